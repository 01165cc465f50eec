"""One way to stop: at any moment, whatever runs, in order and within ten seconds. One way to notice what happened."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.conformance import exports
from tests.conformance.hostile_questions import QUESTIONS, ask
from tests.conformance.process import ServeProcess
from tests.conformance.test_process import stored

LIMIT_S = 10.0


def stop(server: ServeProcess, number: signal.Signals = signal.SIGTERM) -> float:
    """Seconds that the end takes; it must be a good one."""
    began = time.monotonic()
    server.process.send_signal(number)
    server._finish()
    assert server.process.returncode == 0, "".join(server.errors)
    return time.monotonic() - began


def until_it_minds_signals(server: ServeProcess) -> None:
    """Before Python runs any of our lines a signal does what the system does by default."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and server.process.poll() is None:
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
        caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)


@pytest.mark.parametrize(
    "delay_s", [0.0, 0.1, 0.5, random.uniform(0.5, 4)], ids=["at once", "soon", "later", "some time"]
)
def test_a_start_can_be_stopped_at_any_moment(tmp_path: Path, delay_s: float) -> None:
    """From the first line on, through imports, opening the store and warming up."""
    server = ServeProcess(tmp_path / "store.duckdb", "--ui", "0", wait=False)
    until_it_minds_signals(server)
    time.sleep(delay_s)
    assert stop(server) < LIMIT_S
    assert not (tmp_path / "store.duckdb.server").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_right_after_readiness_with_the_app_and_an_open_page(tmp_path: Path, number: signal.Signals) -> None:
    """The app's framework does not take the signal away, and a page that is open does not hold up the end."""
    server = ServeProcess(tmp_path / "store.duckdb", "--ui", "0")
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    head = (
        f"GET /_stcore/stream HTTP/1.1\r\nHost: 127.0.0.1:{server.app_port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\n{key}\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.app_port), timeout=20) as page:
        page.sendall(head.encode())
        assert page.recv(100).startswith(b"HTTP/1.1 101")
        assert stop(server, number) < LIMIT_S


STOPPED_BY_ANOTHER_THREAD = """
import signal, threading
from tracekit.stopping import stopping_by_signals

def signal_here():
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

with stopping_by_signals() as stopping:
    stopping.started()
    threading.Timer(0.5, signal_here).start()
    stopping.wait()
print("in order")
"""


def test_a_signal_that_another_thread_gets_stops_as_well() -> None:
    """The system may give it to any thread of the process; the main thread, which waits, must wake."""
    command = [sys.executable, "-c", STOPPED_BY_ANOTHER_THREAD]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S - 2, check=True)
    assert done.stdout == "in order\n"


@pytest.mark.parametrize("question", ["cross_join", "sort", "longer_values"])
def test_a_question_does_not_hold_up_the_end(tmp_path: Path, question: str) -> None:
    """It is interrupted, its asker is told, and what was acknowledged is there."""
    server = ServeProcess(tmp_path / "store.duckdb", "--no-ui")
    assert server.post(exports.traces(10))[0] == 200
    askers = [
        threading.Thread(target=_ask_until_stopped, args=(server, QUESTIONS[question]), daemon=True) for _ in range(6)
    ]
    for asker in askers:
        asker.start()
    time.sleep(1)
    assert stop(server) < LIMIT_S
    assert stored(tmp_path / "store.duckdb") == 10


def _ask_until_stopped(server: ServeProcess, statement: str) -> None:
    try:
        ask(server, statement, seconds=60)
    except OSError:
        return


@pytest.mark.parametrize("what", ["moved", "removed", "replaced"])
def test_a_file_that_goes_away_is_noticed_before_anything_is_acknowledged(tmp_path: Path, what: str) -> None:
    """503 with a sentence, also for questions and /readyz; moved back, all goes on."""
    database = tmp_path / "store.duckdb"
    server = ServeProcess(database, "--no-ui")
    assert server.post(exports.traces(10))[0] == 200
    aside = tmp_path / "aside.duckdb"
    database.rename(aside)
    if what == "removed":
        aside.unlink()
    if what == "replaced":
        database.write_bytes(b"something else")
    status, body = server.post(exports.traces(7))
    assert status == 503
    assert str(database).encode() in body
    assert server.ask("/readyz")[0] == 503
    assert ask(server, "SELECT 1", seconds=5)[0] == 503
    if what == "moved":
        aside.rename(database)
        deadline = time.monotonic() + 20
        while server.post(exports.traces(3))[0] != 200:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert stop(server) < LIMIT_S
    assert str(database) in "".join(server.errors)
    if what == "moved":
        assert stored(database) >= 13


@pytest.mark.parametrize("option", ["--http", "--grpc", "--ui"])
def test_a_taken_port_is_told_alike_for_all_three(tmp_path: Path, option: str) -> None:
    """The message names the port and the option; the exit code is that of wrong usage."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ports = {"--http": "0", "--grpc": "0", "--ui": "0"} | {option: port}
        options = [word for pair in ports.items() for word in pair]
        command = [sys.executable, "-m", "tracekit", "serve", *options, "--db", str(tmp_path / "store.duckdb")]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_a_log_that_cannot_be_replayed_names_the_way_out(tmp_path: Path) -> None:
    """Which file, what is saved by moving it away, and that nothing is thrown away."""
    database = tmp_path / "store.duckdb"
    server = ServeProcess(database, "--no-ui")
    for _ in range(3):
        assert server.post(exports.traces(10))[0] == 200
    server.kill()
    log = tmp_path / "store.duckdb.wal"
    content = bytearray(log.read_bytes())
    for place in range(len(content) - 100, len(content) - 36):
        content[place] ^= 0xFF
    log.write_bytes(content)
    command = [sys.executable, "-m", "tracekit", "query", "SELECT 1", "--db", str(database)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert f"mv {log} {log}.broken" in ended.stderr
    assert "Traceback" not in ended.stderr
    log.rename(tmp_path / "store.duckdb.wal.broken")
    again = ServeProcess(database, "--no-ui")
    assert again.post(exports.traces(10))[0] == 200
    assert stop(again) < LIMIT_S
