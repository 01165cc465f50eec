"""Coverage-guided fuzzing of the HTTP port: any bytes to a real receiver on loopback.

    pip install atheris        # Python 3.11 to 3.13, Linux
    python -m tests.fuzz.http_surface CORPUS [-max_total_time=600] [further options of libFuzzer]

An input is what a sender writes on one connection before it stops. Requests of each kind are put into CORPUS first. It
stops at an answer that is no HTTP, at one that tells a defect (500), at a hang, and where the room of a request is not
given back.
"""

from __future__ import annotations

import gzip
import socket
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["uvicorn.protocols.http.httptools_impl", "starlette"]):
    import starlette.applications  # noqa: F401 - rewritten before the receiver imports it
    import uvicorn.protocols.http.httptools_impl  # noqa: F401

from tests.fuzz.signals import marks
from tracekit.receiver import Receiver, ReceiverSettings
from tracekit.receiver.warm_up import samples
from tracekit.serving.serve import _routes

_ANSWER_S = 20
_mark = marks(atheris.instrument_func)


class Target:
    """A receiver, and what is checked of it after each connection."""

    def __init__(self, folder: Path) -> None:
        settings = ReceiverSettings(http_port=0, grpc_port=0, max_request_bytes=1 << 20, body_timeout_s=2)
        self.receiver = Receiver(folder / "fuzzed.duckdb", settings, extra_routes=_routes)
        self.receiver.start()

    def test_one_input(self, data: bytes) -> None:
        """Write the bytes on one connection and read what comes back."""
        received = self._exchange(data)
        statuses = [line[9:12] for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
        assert not received or received.startswith(b"HTTP/1.1 "), received[:200]
        assert b"500" not in statuses, received[:500]
        _mark(int(status) for status in statuses)
        _mark(hash(line[:24]) for line in received.split(b"\r\n")[:12])
        self._wait_until_idle()

    def _exchange(self, data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.receiver.ports.http_port), timeout=_ANSWER_S) as connection:
            received = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    received += piece
            except (BrokenPipeError, ConnectionResetError):
                pass
            return received

    def _wait_until_idle(self) -> None:
        deadline = time.monotonic() + _ANSWER_S
        while self.receiver.intake.budget.used_bytes:
            assert time.monotonic() < deadline, "the room of a request was not given back"
            time.sleep(0.001)


def seeds() -> dict[str, bytes]:
    """Good requests, and some that are nearly good."""
    found = {
        f"{signal}-{encoding}": _post(f"/v1/{signal}", payload, f"Content-Type: {_MEDIA_TYPES[encoding]}")
        for (signal, encoding), payload in samples().items()
    }
    body = samples()["traces", "protobuf"]
    protobuf = f"Content-Type: {_MEDIA_TYPES['protobuf']}"
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    head = f"POST /v1/traces HTTP/1.1\r\nHost: x\r\n{protobuf}\r\nTransfer-Encoding: chunked\r\n\r\n"
    return found | {
        "gzip": _post("/v1/traces", gzip.compress(body), protobuf, "Content-Encoding: gzip"),
        "chunked": head.encode() + chunks,
        "twice": 2 * _post("/v1/traces", body, protobuf),
        "health": b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "metrics": b"GET /metrics HTTP/1.0\r\n\r\n",
        "sql": _post("/api/sql", b'{"sql":"SELECT 1"}', "Content-Type: application/json"),
        "answer": _post("/api/answers/tail", b'{"arguments":["e2e"]}', "Content-Type: application/json"),
        "file": _post("/api/ingest?name=x&last=0", body, "Content-Type: application/vnd.tracekit.file"),
        "expect": _post("/v1/traces", body, protobuf, "Expect: 100-continue"),
    }


_MEDIA_TYPES = {"protobuf": "application/x-protobuf", "json": "application/json"}


def _post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def main() -> None:
    """Fill the corpus and fuzz."""
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for name, content in seeds().items():
        (corpus / f"good-{name}").write_bytes(content)
    with tempfile.TemporaryDirectory() as folder:
        target = Target(Path(folder))
        atheris.Setup(sys.argv, target.test_one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
