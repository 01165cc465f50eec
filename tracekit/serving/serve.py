"""`tracekit serve`: the receiver, the app and the read-only questions over one open store."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from tracekit.errors import UsageError
from tracekit.receiver import Receiver, ReceiverSettings
from tracekit.remote import Endpoint, announced
from tracekit.serving.answers import answer_routes
from tracekit.serving.app import AppServer
from tracekit.serving.governor import AskingLimits, Governor
from tracekit.serving.memory import allowed_bytes
from tracekit.serving.uploads import UPLOAD_PATH, upload_routes
from tracekit.stopping import Stopping
from tracekit.store import holding

_BARE_BYTES = 352 << 20
"""The process with its libraries and compiled kernels, before anything is received."""
_FULL_BYTES = 1536 << 20
"""What it takes at most with the memory that settings name."""
_LEAST_BYTES = 512 << 20
_ANSWERS_PART, _MOST_ANSWERS_BYTES = 4, 3 << 30
"""Of what there is beyond that, the part that tracekit's own questions may take: of ten million spans 1.5 GiB."""
_MOST_RUNAWAY_BYTES = 768 << 20
_DUCKDBS_PART = 8
"""Of that the part that DuckDB holds more, which may also be blocks of the file."""
_RECEIVING_BYTES = (
    "max_request_bytes",
    "max_waiting_bytes",
    "group_bytes",
    "store_memory_bytes",
    "asking_memory_bytes",
)
_ASKING_BYTES = ("duckdb_bytes", "growth_bytes", "operator_memory_bytes", "output_bytes", "runaway_bytes")
_LEAST_DESCRIPTORS = 64
"""For the store, the ports' own and a few connections each."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What a server does: how it receives, what may be asked, and on which port the app is (None: no app)."""

    receiver: ReceiverSettings
    ui_port: int | None = 8501
    asking: AskingLimits = field(default_factory=AskingLimits)


def fitting(settings: ServeSettings, memory_bytes: int) -> ServeSettings:
    """The same settings, with less memory for everything where the process may have only `memory_bytes`.

    Where it may have more than they take, tracekit's own questions get a part of that.

    Raises `UsageError` where that is too little to serve at all.
    """
    receiver, asking = settings.receiver, settings.asking
    if memory_bytes >= _FULL_BYTES:
        answers_bytes = min((memory_bytes - _FULL_BYTES) // _ANSWERS_PART, _MOST_ANSWERS_BYTES)
        shared_bytes = answers_bytes // _DUCKDBS_PART
        return replace(
            settings,
            receiver=replace(receiver, asking_memory_bytes=receiver.asking_memory_bytes + shared_bytes),
            asking=replace(
                asking,
                process_bytes=asking.process_bytes + shared_bytes,
                answers_bytes=answers_bytes,
                answers_duckdb_bytes=shared_bytes,
                runaway_bytes=asking.runaway_bytes + min((memory_bytes - _FULL_BYTES) // 4, _MOST_RUNAWAY_BYTES),
            ),
        )
    if memory_bytes < _LEAST_BYTES:
        raise UsageError(
            f"this process may have {memory_bytes >> 20} MiB of memory, and serving needs {_LEAST_BYTES >> 20}: "
            "give the machine or the container more"
        )

    def share(size_bytes: int) -> int:
        return size_bytes * (memory_bytes - _BARE_BYTES) // (_FULL_BYTES - _BARE_BYTES)

    receiving: dict[str, Any] = {name: share(getattr(receiver, name)) for name in _RECEIVING_BYTES}
    asked: dict[str, Any] = {name: share(getattr(asking, name)) for name in _ASKING_BYTES}
    asked["process_bytes"] = _BARE_BYTES + share(asking.process_bytes - _BARE_BYTES)
    return replace(settings, receiver=replace(receiver, **receiving), asking=replace(asking, **asked))


def serve(path: Path, settings: ServeSettings, *, stopping: Stopping, ready: Callable[[str], None]) -> None:
    """Serve the store at `path` until `stopping` says so: end what is asked, answer what was sent, close.

    `ready` is called with one line once all ports answer.
    Raises `UsageError` for a port that is taken and `StoreError` for a store that cannot be used.
    """
    _allow_many_connections()
    settings = fitting(settings, allowed_bytes())
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
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < _LEAST_DESCRIPTORS:
        raise UsageError(
            f"this process may have {hard} files and connections open, and serving needs {_LEAST_DESCRIPTORS}: "
            "raise the limit (`ulimit -n`, LimitNOFILE of systemd)"
        )
