"""The two network ports, served by one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import grpc
import grpc.aio
from starlette.types import ASGIApp

from tracekit.receiver.grpc_export import grpc_server
from tracekit.receiver.http_server import http_server, listener, taken
from tracekit.receiver.intake import Intake
from tracekit.receiver.tls import Certificate

_DRAIN_S = 3


class Ports:
    """Serves an HTTP application and the gRPC services until stopped. Port 0 takes any free one."""

    def __init__(
        self,
        intake: Intake,
        app: ASGIApp,
        *,
        host: str,
        http_port: int,
        grpc_port: int,
        certificate: Certificate | None = None,
    ) -> None:
        self.host = host
        self.http_port = http_port
        self.grpc_port = grpc_port
        self._intake = intake
        self._app = app
        self._certificate = certificate
        self._answering: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="tracekit-ports", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    def start(self) -> None:
        """Serve both ports and return when they answer. Raises `UsageError` for a port that is taken."""
        self._thread.start()
        self._answering.result()

    def stop(self) -> None:
        """Accept nothing new, let what is in flight be answered, and return. Twice is once."""
        if self._thread.is_alive() and self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._answering.done():
                raise
            self._answering.set_exception(error)

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        with listener(self.host, self.http_port, option="--http") as listening:
            self.http_port = listening.getsockname()[1]
            http = http_server(self._app, certificate=self._certificate, drain_s=_DRAIN_S)
            rpc = grpc_server(self._intake)
            self.grpc_port = self._bind_grpc(rpc)
            await rpc.start()
            serving = asyncio.create_task(http.serve(sockets=[listening]))
            while not http.started and not serving.done():
                await asyncio.sleep(0.01)
            self._answering.set_result(None)
            await self._stopping.wait()
            http.should_exit = True
            await asyncio.gather(serving, rpc.stop(_DRAIN_S))

    def _bind_grpc(self, rpc: grpc.aio.Server) -> int:
        # gRPC's own error tells little, and takes a port that another has by SO_REUSEPORT.
        with listener(self.host, self.grpc_port, option="--grpc"):
            pass
        host = f"[{self.host}]" if ":" in self.host else self.host
        try:
            if self._certificate is None:
                return int(rpc.add_insecure_port(f"{host}:{self.grpc_port}"))
            return int(rpc.add_secure_port(f"{host}:{self.grpc_port}", _credentials(self._certificate)))
        except RuntimeError as error:
            raise taken(self.host, self.grpc_port, "--grpc") from error


def _credentials(certificate: Certificate) -> grpc.ServerCredentials:
    pair = (certificate.key_path.read_bytes(), certificate.cert_path.read_bytes())
    return grpc.ssl_server_credentials([pair])
