"""An HTTP server on a port of this process, the same for whatever is served there."""

from __future__ import annotations

import resource
import socket

import uvicorn
from starlette.types import ASGIApp

from tracekit.errors import UsageError
from tracekit.receiver.connections import GuardedConnection
from tracekit.receiver.tls import Certificate

_BACKLOG = 2048
_MOST_CONNECTIONS = 8192
# What a page sends: the state of its widgets.
_WEBSOCKET_BYTES = 1 << 20
# SDKs send every five seconds; a connection that is closed just then costs them a retry.
_KEEP_ALIVE_S = 75
# Files, logs and pipes of the process itself.
_OWN_DESCRIPTORS = 40
_LEAST_CONNECTIONS = 8


def listener(host: str, port: int, *, option: str) -> socket.socket:
    """A socket that listens; port 0 takes any free one. Raises `UsageError`, which names the option."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise taken(host, port, option) from error


def taken(host: str, port: int, option: str) -> UsageError:
    """The error of a port that cannot be had."""
    return UsageError(
        f"cannot listen on {host}:{port}: it is taken or not allowed; choose another with {option}",
        option=option.lstrip("-"),
        value=str(port),
    )


def http_server(
    app: ASGIApp,
    *,
    certificate: Certificate | None,
    drain_s: int,
    with_lifespan: bool = False,
    with_websocket: bool = False,
) -> uvicorn.Server:
    """A server of an application, to be run in an event loop.

    When it is told to stop, what is in flight has `drain_s` seconds.
    """
    most_connections = GuardedConnection.most_connections = _connections()
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=GuardedConnection,
            ws="websockets-sansio" if with_websocket else "none",
            lifespan="on" if with_lifespan else "off",
            log_config=None,
            access_log=False,
            server_header=False,
            # The event loop accepts so many at a time before it comes to refusing one.
            backlog=min(_BACKLOG, most_connections),
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=drain_s,
            ssl_certfile=None if certificate is None else certificate.cert_path,
            ssl_keyfile=None if certificate is None else certificate.key_path,
            ws_max_size=_WEBSOCKET_BYTES,
        )
    )


def _connections() -> int:
    """How many connections a port may have, so that descriptors are left for the store and the other ports."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return min(max((limit - _OWN_DESCRIPTORS) // 2, _LEAST_CONNECTIONS), _MOST_CONNECTIONS)
