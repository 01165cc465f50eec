"""`tracekit serve`: the receiver, the app and the read-only questions over one open store."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from starlette.routing import BaseRoute

from tracekit.receiver import Receiver, ReceiverSettings
from tracekit.remote import Endpoint, announced
from tracekit.serving.answers import answer_routes
from tracekit.serving.app import AppServer
from tracekit.serving.governor import AskingLimits, Governor
from tracekit.serving.uploads import UPLOAD_PATH, upload_routes
from tracekit.stopping import Stopping
from tracekit.store import holding


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What a server does: how it receives, what may be asked, and on which port the app is (None: no app)."""

    receiver: ReceiverSettings
    ui_port: int | None = 8501
    asking: AskingLimits = field(default_factory=AskingLimits)


def serve(path: Path, settings: ServeSettings, *, stopping: Stopping, ready: Callable[[str], None]) -> None:
    """Serve the store at `path` until `stopping` says so: end what is asked, answer what was sent, close.

    `ready` is called with one line once all ports answer.
    Raises `UsageError` for a port that is taken and `StoreError` for a store that cannot be used.
    """
    _allow_many_connections()
    with ExitStack() as running:
        governor = Governor(lambda: receiver.store.database, settings.asking)
        receiver = Receiver(
            path,
            settings.receiver,
            extra_routes=partial(_routes, governor),
            extra_body_bytes={UPLOAD_PATH: None},
            end_questions=governor.stop_all,
        )
        app = None if settings.ui_port is None else AppServer(path, settings.receiver, port=settings.ui_port)
        running.enter_context(receiver)
        running.enter_context(holding(path, governor))
        lines = f"{path}: OTLP/HTTP and SQL at {_url(receiver)}, OTLP/gRPC at {_grpc_address(receiver)}"
        if app is not None:
            _tell_app(receiver)
            # What the app's framework prints about itself is no data.
            running.enter_context(contextlib.redirect_stdout(sys.stderr))
            running.enter_context(app)
            lines += f", app at {_address(settings.receiver, app.host, app.port)}"
        running.callback(governor.close)
        running.enter_context(announced(path, _endpoint(receiver)))
        stopping.started()
        ready(lines)
        stopping.wait()


def _routes(governor: Governor, receiver: Receiver) -> Sequence[BaseRoute]:
    """What the HTTP port serves beside the receiver's own."""
    access = receiver.intake.access
    return [*answer_routes(governor, access), *upload_routes(lambda: receiver.store.database, access)]


def _endpoint(receiver: Receiver) -> Endpoint:
    certificate = receiver.settings.certificate
    return Endpoint(
        _url(receiver),
        os.getpid(),
        receiver.settings.token,
        None if certificate is None else str(certificate.cert_path.resolve()),
    )


def _tell_app(receiver: Receiver) -> None:
    """Let the app's pages say where to send."""
    os.environ["TRACEKIT_OTLP_HTTP"] = _url(receiver)
    os.environ["TRACEKIT_OTLP_GRPC"] = _grpc_address(receiver)
    os.environ["TRACEKIT_OTLP_TOKEN"] = "none" if receiver.settings.token is None else "asked for"


def _url(receiver: Receiver) -> str:
    return _address(receiver.settings, receiver.ports.host, receiver.ports.http_port)


def _address(settings: ReceiverSettings, host: str, port: int) -> str:
    scheme = "http" if settings.certificate is None else "https"
    return f"{scheme}://{_reachable(host)}:{port}"


def _grpc_address(receiver: Receiver) -> str:
    return f"{_reachable(receiver.ports.host)}:{receiver.ports.grpc_port}"


def _reachable(host: str) -> str:
    """The host as a client on this machine writes it."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{local}]" if ":" in local else local


def _allow_many_connections() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
