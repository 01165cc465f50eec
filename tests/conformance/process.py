"""`tracekit serve` as a process of its own: started, asked, ended in good ways and bad."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

_READY = re.compile(
    r"SQL at https?://127\.0\.0\.1:(?P<http>\d+), OTLP/gRPC at 127\.0\.0\.1:(?P<grpc>\d+)"
    r"(, app at https?://127\.0\.0\.1:(?P<app>\d+))?"
)
START_S = 120


class ServeProcess:
    """A server on ports that the system chose."""

    def __init__(
        self,
        database: Path,
        *options: str,
        environment: dict[str, str] | None = None,
        preexec: Callable[[], None] | None = None,
        wait: bool = True,
    ) -> None:
        ports = () if "--http" in options else ("--http", "0", "--grpc", "0")
        command = [sys.executable, "-m", "tracekit", "serve", "--db", str(database), *ports, *options]
        self.errors: list[str] = []
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=preexec,
        )
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        if not wait:
            return
        ready = self._wait_for(_READY)
        self.http_port, self.grpc_port = int(ready["http"]), int(ready["grpc"])
        self.app_port = int(ready["app"] or 0)

    def post(self, payload: bytes, path: str = "/v1/traces", **headers: str) -> tuple[int, bytes]:
        """Send one protobuf request: status and body. Raises `OSError` or `HTTPException` when the server
        dies."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)) as connection:
            connection.request("POST", path, payload, {"Content-Type": "application/x-protobuf", **headers})
            response = connection.getresponse()
            return response.status, response.read()

    def ask(self, path: str) -> tuple[int, str]:
        """GET a page of the HTTP port."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self._finish()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        self._finish()
        return self.process.returncode

    def _finish(self) -> None:
        self.process.wait(timeout=60)
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read_errors(self) -> None:
        if self.process.stderr is not None:
            self.errors.extend(iter(self.process.stderr.readline, ""))

    def _wait_for(self, pattern: re.Pattern[str]) -> re.Match[str]:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if found := pattern.search("".join(self.errors)):
                return found
            if self.process.poll() is not None:
                self._finish()
                break
            time.sleep(0.05)
        raise RuntimeError(f"the server did not get ready: {''.join(self.errors)}")
