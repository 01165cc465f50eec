"""The two network ports, served by one event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import Future

import grpc.aio
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tracekit.errors import UsageError
from tracekit.receiver.grpc_export import grpc_server
from tracekit.receiver.intake import Intake

_BACKLOG = 2048
_DRAIN_S = 20
# SDKs send every five seconds; a connection that is closed just then costs them a retry.
_KEEP_ALIVE_S = 75
_READ_BYTES = 1 << 16


class Ports:
    """Serves an HTTP application and the gRPC services until stopped. Port 0 takes any free one."""

    def __init__(self, intake: Intake, app: Starlette, *, host: str, http_port: int, grpc_port: int) -> None:
        self.host = host
        self.http_port = http_port
        self.grpc_port = grpc_port
        self._intake = intake
        self._app = app
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
        listener = self._http_listener()
        http = uvicorn.Server(_http_config(self._app))
        rpc = grpc_server(self._intake)
        self.grpc_port = self._bind_grpc(rpc)
        await rpc.start()
        serving = asyncio.create_task(http.serve(sockets=[listener]))
        while not http.started and not serving.done():
            await asyncio.sleep(0.01)
        self._answering.set_result(None)
        await self._stopping.wait()
        http.should_exit = True
        await asyncio.gather(serving, rpc.stop(_DRAIN_S))

    def _http_listener(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            listener = socket.create_server((self.host, self.http_port), family=family, backlog=_BACKLOG)
        except OSError as error:
            raise _taken(self.host, self.http_port, "--http") from error
        self.http_port = listener.getsockname()[1]
        return listener

    def _bind_grpc(self, rpc: grpc.aio.Server) -> int:
        host = f"[{self.host}]" if ":" in self.host else self.host
        try:
            return int(rpc.add_insecure_port(f"{host}:{self.grpc_port}"))
        except RuntimeError as error:
            raise _taken(self.host, self.grpc_port, "--grpc") from error


class _SmallReads(HttpToolsProtocol):
    """Takes little at a time from each connection: with thousands of senders what was taken and not yet handed on
    would add up, while the rest waits in the system's own buffers."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Bound the size of one read; a loop that has no such bound keeps its own."""
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]
        super().connection_made(transport)


def _http_config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_SmallReads,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_DRAIN_S,
    )


def _taken(host: str, port: int, option: str) -> UsageError:
    return UsageError(f"cannot listen on {host}:{port}: it is taken or not allowed; choose another with {option}")
