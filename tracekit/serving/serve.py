"""`tracekit serve`: the receiver, the app and the read-only questions over one open store."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from starlette.routing import BaseRoute

from tracekit.receiver import Receiver, ReceiverSettings
from tracekit.remote import Endpoint, announced
from tracekit.serving.answers import answer_routes
from tracekit.serving.app import run_app
from tracekit.serving.uploads import upload_routes
from tracekit.store import holding


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What a server does: how it receives, and on which port the app is (None: no app)."""

    receiver: ReceiverSettings
    ui_port: int | None = 8501


def serve(path: Path, settings: ServeSettings, *, ready: Callable[[str], None]) -> None:
    """Serve the store at `path` until SIGTERM or SIGINT, then drain.

    `ready` is called with one line once all ports answer. To be called in the main thread, which takes the
    signals.
    Raises `UsageError` for a port that is taken and `StoreError` for a store that cannot be used.
    """
    _allow_many_connections()
    with ExitStack() as running:
        stopping = running.enter_context(_signals())
        receiver = Receiver(path, settings.receiver, extra_routes=_routes)
        running.enter_context(holding(path, lambda: receiver.store.database))
        running.enter_context(receiver)
        endpoint = Endpoint(_url(receiver), os.getpid(), settings.receiver.token)
        running.enter_context(announced(path, endpoint))
        lines = f"{path}: OTLP/HTTP and SQL at {endpoint.url}, OTLP/gRPC at {_grpc_address(receiver)}"
        if settings.ui_port is None:
            ready(lines)
            stopping.wait()
            return
        # What the app's framework prints about itself is no data.
        running.enter_context(contextlib.redirect_stdout(sys.stderr))
        run_app(path, settings.receiver, port=settings.ui_port, ready=lambda url: ready(f"{lines}, app at {url}"))


def _routes(receiver: Receiver) -> list[BaseRoute]:
    """What the HTTP port serves beside the receiver's own."""
    given = (lambda: receiver.store.database, receiver.intake.access)
    return [*answer_routes(*given), *upload_routes(*given)]


def _url(receiver: Receiver) -> str:
    return f"http://{_reachable(receiver.ports.host)}:{receiver.ports.http_port}"


def _grpc_address(receiver: Receiver) -> str:
    return f"{_reachable(receiver.ports.host)}:{receiver.ports.grpc_port}"


def _reachable(host: str) -> str:
    """The host as a client on this machine writes it."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{local}]" if ":" in local else local


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set inside the block."""
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _allow_many_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
