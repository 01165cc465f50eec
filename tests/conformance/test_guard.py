"""What stands before every port: nothing is buffered, waited for or believed before it is allowed."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest
import zstandard

import tracekit as tk
from tests.conformance import exports
from tests.conformance.conftest import JSON, PROTOBUF, StartReceiver, grpc_call, request
from tests.conformance.hostile_questions import resident_bytes
from tests.conformance.process import ServeProcess
from tracekit.receiver import Receiver, connections
from tracekit.receiver.grpc_export import SERVICES

MANY = 500_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    """A whole server with its app."""
    running = ServeProcess(tmp_path_factory.mktemp("guarded") / "store.duckdb", "--ui", "0")
    yield running
    assert running.stop() == 0


def raw(port: int, *pieces: bytes, timeout_s: float = 20) -> bytes:
    """What a port answers to these bytes until it closes the connection, or has answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
        received = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
            while b"\r\n\r\n" not in received or not received.split(b"\r\n\r\n", 1)[1]:
                if not (found := connection.recv(65536)):
                    break
                received += found
        except (BrokenPipeError, ConnectionResetError):
            pass
        return received


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def head(port: int, line: str, *headers: str) -> bytes:
    return "\r\n".join([line, f"Host: 127.0.0.1:{port}", *headers, "", ""]).encode("latin-1")


@pytest.mark.parametrize("path", ["/api/sql", "/api/answers/tail", "/healthz", "/metrics", "/no/such/place"])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_large_bodies_are_refused_before_they_are_read(server: ServeProcess, path: str, is_chunked: bool) -> None:
    """413 from the length that is declared, or as soon as it is passed; nothing is kept."""
    before = resident_bytes(server.process.pid)
    piece = b"x" * (1 << 20)
    if is_chunked:
        start = head(server.http_port, f"POST {path} HTTP/1.1", "Transfer-Encoding: chunked", f"Content-Type: {JSON}")
        pieces = [b"%x\r\n%b\r\n" % (len(piece), piece)] * 64
    else:
        start = head(server.http_port, f"POST {path} HTTP/1.1", f"Content-Length: {3 << 30}", f"Content-Type: {JSON}")
        pieces = [piece] * 64
    answer = raw(server.http_port, start, *pieces)
    # Who goes on sending may see the connection end before the answer.
    assert status_of(answer) in (413, 405, 404, 0)
    assert resident_bytes(server.process.pid) - before < 64 << 20
    assert server.post(exports.traces())[0] == 200


@pytest.mark.parametrize("port_name", ["http_port", "app_port"])
@pytest.mark.parametrize(
    "line",
    [
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (8 << 20),
        b"GET /" + b"a" * (8 << 20),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * (1 << 20),
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"a" * (8 << 20),
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: "
        + b"a" * (8 << 20),
    ],
)
def test_endless_heads_are_refused_at_once(server: ServeProcess, port_name: str, line: bytes) -> None:
    """Header lines, many headers, the address, extensions of chunks and trailers: 64 KiB, then the end."""
    port = getattr(server, port_name)
    before_s = processor_s(server)
    pieces = [line[start : start + 65536] for start in range(0, len(line), 65536)]
    assert status_of(raw(port, *pieces)) in (431, 415, 403, 405, 0)
    assert processor_s(server) - before_s < 0.5
    assert server.post(exports.traces())[0] == 200


def processor_s(server: ServeProcess) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_a_body_in_tiny_chunks_is_refused(server: ServeProcess) -> None:
    """Each chunk costs as much as a large one."""
    start = head(
        server.http_port, "POST /v1/traces HTTP/1.1", "Transfer-Encoding: chunked", f"Content-Type: {PROTOBUF}"
    )
    before_s = processor_s(server)
    answer = raw(server.http_port, start, *[b"1\r\na\r\n" * 10_000] * 200)
    assert status_of(answer) in (400, 0)
    assert processor_s(server) - before_s < 1


@pytest.mark.parametrize(
    "start",
    [b"", b"POST /v1/traces HTTP/1.1\r\nHost: loc", b"POST /api/sql HTTP/1.1\r\nHost: localhost\r\nX: y\r\n"],
)
def test_a_head_that_does_not_come_is_not_waited_for(
    start_receiver: StartReceiver, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    """Slow senders of heads are ended after a time, silent ones too."""
    monkeypatch.setattr(connections, "_HEAD_S", 0.5)
    monkeypatch.setattr(connections, "_IDLE_S", 0.5)
    receiver = start_receiver()
    began = time.monotonic()
    assert status_of(raw(receiver.ports.http_port, start)) == (408 if start else 0)
    assert time.monotonic() - began < 5


def test_a_body_that_stalls_is_ended_on_every_route(start_receiver: StartReceiver) -> None:
    """Not only where data is received."""
    receiver = start_receiver(body_timeout_s=0.5)
    port = receiver.ports.http_port
    start = head(port, "POST /v1/logs HTTP/1.1", "Content-Length: 100", f"Content-Type: {JSON}")
    assert status_of(raw(port, start, b"{")) == 408


@pytest.mark.parametrize(
    ("encoding", "member"), [("gzip", gzip.compress(b"", mtime=0)), ("zstd", zstandard.compress(b""))]
)
def test_half_a_million_empty_members_are_read_in_linear_time(receiver: Receiver, encoding: str, member: bytes) -> None:
    """They are whole bodies with nothing in them."""
    began = time.process_time()
    assert request(receiver, "/v1/traces", member * MANY, Content_Encoding=encoding).status == 200
    assert time.process_time() - began < 15


@pytest.mark.parametrize("count", [4, 100])
def test_idle_calls_do_not_starve_the_others(receiver: Receiver, count: int) -> None:
    """Calls that never send their message give way to those that do."""
    address = f"127.0.0.1:{receiver.ports.grpc_port}"
    with ExitStack() as idle:
        for _ in range(count // 4):
            channel = idle.enter_context(
                grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
            )
            for _ in range(4):
                call = channel.stream_unary(f"/{SERVICES['traces']}/Export").future(never(), timeout=60)
                idle.callback(call.cancel)
        time.sleep(0.5)
        began = time.monotonic()
        with ThreadPoolExecutor(4) as senders:
            payloads = [exports.traces(5) for _ in range(20)]
            answers = list(senders.map(lambda payload: grpc_call(receiver, SERVICES["traces"], payload), payloads))
        assert answers == [b""] * 20
        assert time.monotonic() - began < 15


def never() -> Iterator[bytes]:
    time.sleep(5)
    yield from ()


@pytest.mark.parametrize("name", ["evil.example", "evil.example:4318", "127.0.0.1.evil.example", "[::1", "a b", ""])
def test_foreign_names_are_refused_on_every_route(server: ServeProcess, name: str) -> None:
    """A page whose name was pointed at this machine reaches neither data nor the app."""
    lines = [
        (server.http_port, f"GET {path} HTTP/1.1") for path in ("/metrics", "/healthz", "/readyz", "/", "/api/sql")
    ]
    lines += [(server.http_port, "POST /v1/traces HTTP/1.1"), (server.http_port, "POST /api/sql HTTP/1.1")]
    lines += [(server.app_port, f"GET {path} HTTP/1.1") for path in ("/", "/_stcore/health", "/_stcore/host-config")]
    for port, line in lines:
        answer = raw(port, f"{line}\r\nHost: {name}\r\nContent-Length: 0\r\n\r\n".encode())
        assert status_of(answer) in (403, 400), (port, line, answer)
        assert len(answer.split(b"\r\n\r\n", 1)[1]) > 10


@pytest.mark.parametrize("origin", ["http://evil.example", "https://evil.example:8501", "null", "file://", "x"])
def test_pages_of_foreign_sites_are_refused_everywhere(server: ServeProcess, origin: str) -> None:
    """Whatever they ask for, the WebSocket of the app included."""
    for path in ("/v1/traces", "/api/sql", "/metrics"):
        answer = raw(
            server.http_port, head(server.http_port, f"POST {path} HTTP/1.1", f"Origin: {origin}", "Content-Length: 0")
        )
        assert status_of(answer) == 403
    assert status_of(websocket(server, f"127.0.0.1:{server.app_port}", origin)) == 403


def test_the_websocket_of_the_app_is_open_to_its_own_page_only(server: ServeProcess) -> None:
    """By its own name and its own origin."""
    own = f"127.0.0.1:{server.app_port}"
    assert status_of(websocket(server, own, f"http://{own}")) == 101
    assert status_of(websocket(server, f"localhost:{server.app_port}", f"http://localhost:{server.app_port}")) == 101
    assert status_of(websocket(server, "evil.example", "http://evil.example")) == 403


def websocket(server: ServeProcess, host: str, origin: str) -> bytes:
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        f"Origin: {origin}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    ]
    with socket.create_connection(("127.0.0.1", server.app_port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(4096)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n\xff",
        b"POST /api/ingest?last=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        b"BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /%00%ff%2e%2e/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
@pytest.mark.parametrize("port_name", ["http_port", "app_port"])
def test_every_refusal_is_a_4xx_with_a_sentence(server: ServeProcess, port_name: str, sent: bytes) -> None:
    """Never 500, never nothing."""
    port = getattr(server, port_name)
    answer = raw(port, sent, b"" if sent.endswith(b"\r\n") else b"\r\n\r\n")
    if port_name == "http_port":
        assert 400 <= status_of(answer) < 500, answer
        assert b" " in answer.split(b"\r\n\r\n", 1)[1]
    assert status_of(answer) < 500
    assert server.post(exports.traces())[0] == 200


def test_a_json_bomb_is_an_error_of_its_sender(server: ServeProcess) -> None:
    """Nested a hundred thousand times."""
    body = b'{"sql":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    status, told = server.post(body, "/api/sql", **{"Content-Type": JSON})
    assert status == 400
    assert json.loads(told)["message"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert]
    subprocess.run([*command, *subject], check=True, capture_output=True)
    return cert, key


def test_all_ports_speak_tls_where_a_certificate_is_given(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    """OTLP over both transports, the app, and the commands of this machine, which trust the server's own file."""
    import ssl
    import urllib.request

    cert, key = certificate
    database = tmp_path / "store.duckdb"
    server = ServeProcess(database, "--ui", "0", "--tls-cert", str(cert), "--tls-key", str(key))
    context = ssl.create_default_context(cafile=str(cert))
    sent = urllib.request.Request(
        f"https://localhost:{server.http_port}/v1/traces", exports.traces(3), {"Content-Type": PROTOBUF}
    )
    assert urllib.request.urlopen(sent, context=context, timeout=30).status == 200
    assert urllib.request.urlopen(f"https://localhost:{server.app_port}/", context=context, timeout=30).status == 200
    credentials = grpc.ssl_channel_credentials(cert.read_bytes())
    with grpc.secure_channel(f"localhost:{server.grpc_port}", credentials) as channel:
        assert channel.unary_unary(f"/{SERVICES['traces']}/Export")(exports.traces(4), timeout=30) == b""
    with tk.open(database) as store:
        assert store.sql("SELECT count(*) AS count FROM spans")["count"][0] == 7
    assert status_of(raw(server.http_port, head(server.http_port, "GET /healthz HTTP/1.1"))) == 0
    assert server.stop() == 0


@pytest.mark.parametrize("options", [["--tls-cert", "{cert}"], ["--tls-cert", "{key}", "--tls-key", "{cert}"]])
def test_a_certificate_that_is_none_is_wrong_usage(
    tmp_path: Path, certificate: tuple[Path, Path], options: list[str]
) -> None:
    """Told at the start, by the names of the files."""
    cert, key = certificate
    chosen = [option.format(cert=cert, key=key) for option in options]
    with pytest.raises(RuntimeError, match=r"--tls-key|no certificate"):
        ServeProcess(tmp_path / "store.duckdb", "--no-ui", *chosen)
