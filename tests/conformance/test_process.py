"""The server as a process: how it starts, ends, and survives what happens to it."""

from __future__ import annotations

import contextlib
import http.client
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.conformance import exports
from tests.conformance.kill import kill_rounds
from tests.conformance.process import ServeProcess
from tracekit.store import Database


def stored(database: Path) -> int:
    with Database.open(database) as store:
        return int(store.sql("SELECT count(*) AS count FROM spans")["count"][0])


@pytest.mark.parametrize("spans_per_batch", [50, 4000])
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, spans_per_batch: int) -> None:
    """Killed at random moments under load: nothing acknowledged is lost, nothing is stored twice."""
    found = kill_rounds(tmp_path, rounds=3, spans_per_batch=spans_per_batch)
    assert found["acknowledged"] > 0
    assert (found["lost"], found["stored_twice"]) == (0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_exits_with_0(tmp_path: Path, number: signal.Signals) -> None:
    """Every sender that was heard is answered, and the endpoint file is gone."""
    database = tmp_path / "store.duckdb"
    server = ServeProcess(database, "--no-ui")
    assert (tmp_path / "store.duckdb.server").exists()
    statuses: list[int] = []

    def send() -> None:
        try:
            while True:
                statuses.append(server.post(exports.traces(10))[0])
        except (OSError, http.client.HTTPException):
            return

    senders = [threading.Thread(target=send) for _ in range(4)]
    for sender in senders:
        sender.start()
    time.sleep(1)
    server.process.send_signal(number)
    server._finish()
    for sender in senders:
        sender.join()
    assert server.process.returncode == 0
    assert set(statuses) <= {200, 503}
    assert not (tmp_path / "store.duckdb.server").exists()
    assert stored(database) >= 10 * statuses.count(200)


def test_a_full_disk_is_retryable_and_needs_no_restart(tmp_path: Path) -> None:
    """503 while there is no room, readiness says so, what was acknowledged stays, and with room all goes on.

    The limit on the size of files stands for the disk: writing beyond it fails in the same place.
    """
    database = tmp_path / "store.duckdb"
    limit_bytes = 3 << 20

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))

    server = ServeProcess(database, "--no-ui", preexec=small_disk)
    acknowledged = 0
    deadline = time.monotonic() + 60
    while (answer := server.post(exports.traces(500)))[0] == 200:
        acknowledged += 500
        assert time.monotonic() < deadline, "the limit was never reached"
    assert answer[0] == 503
    assert b"no room" in answer[1]
    assert server.ask("/readyz")[0] == 503
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    deadline = time.monotonic() + 30
    while server.ask("/readyz")[0] != 200:
        assert time.monotonic() < deadline, "".join(server.errors)
        time.sleep(0.2)
    assert server.post(exports.traces(7))[0] == 200
    assert server.stop() == 0
    assert stored(database) in (acknowledged + 7, acknowledged + 507)


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    """The message names the port and the option; the exit code is that of wrong usage."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "tracekit", "serve", "--no-ui", "--http", port, "--grpc", "0"]
        ended = subprocess.run(
            [*command, "--db", str(tmp_path / "store.duckdb")], capture_output=True, text=True, timeout=120
        )
    assert ended.returncode == 2
    assert f"127.0.0.1:{port}" in ended.stderr
    assert "--http" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_second_server_on_one_file_names_the_first(tmp_path: Path) -> None:
    """One process owns the file."""
    database = tmp_path / "store.duckdb"
    server = ServeProcess(database, "--no-ui")
    with pytest.raises(RuntimeError, match=str(server.process.pid)):
        ServeProcess(database, "--no-ui")
    assert server.stop() == 0


def test_other_addresses_need_a_token(tmp_path: Path) -> None:
    """Nobody opens a store to the network by mistake."""
    command = [sys.executable, "-m", "tracekit", "serve", "--no-ui", "--host", "0.0.0.0"]
    ended = subprocess.run(
        [*command, "--db", str(tmp_path / "store.duckdb")], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 2
    assert "--token" in ended.stderr


def most_descriptors(count: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def test_too_few_descriptors_are_told_at_the_start(tmp_path: Path) -> None:
    """Rather than a server that answers nobody."""
    with pytest.raises(RuntimeError, match="may have 24 files and connections open, and serving needs 64"):
        ServeProcess(tmp_path / "store.duckdb", "--no-ui", preexec=lambda: most_descriptors(24))


def test_more_connections_than_descriptors_pass_by(tmp_path: Path) -> None:
    """They are told to come again, the log stays short, and afterwards all is as before."""
    server = ServeProcess(tmp_path / "store.duckdb", "--no-ui", preexec=lambda: most_descriptors(64))
    with contextlib.ExitStack() as flood:
        for _ in range(300):
            flood.enter_context(socket.create_connection(("127.0.0.1", server.http_port), timeout=20))
        assert server.post(exports.traces(5))[0] in (200, 503)
    deadline = time.monotonic() + 20
    while server.post(exports.traces(5))[0] != 200:
        assert time.monotonic() < deadline
    assert server.stop() == 0
    assert len(server.errors) < 20
