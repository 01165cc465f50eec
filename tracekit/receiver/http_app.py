"""The HTTP port: OTLP, health, counters, and whatever a caller adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from tracekit.otlp import SIGNALS
from tracekit.receiver.exposition import PROMETHEUS_CONTENT_TYPE, prometheus_text
from tracekit.receiver.http_export import HttpExport, refusal, request_encoding
from tracekit.receiver.intake import Intake
from tracekit.receiver.outcome import Refusal, Refused

EXPORT_PATHS = {f"/v1/{signal}": signal for signal in SIGNALS}
_REFUSAL_OF_STATUS = {404: Refusal.NOT_FOUND, 405: Refusal.WRONG_METHOD}


def http_app(intake: Intake, *, fault: Callable[[], str | None], extra: Sequence[BaseRoute] = ()) -> Starlette:
    """The application of the HTTP port; `fault` says why nothing can be stored now, None when all is well."""
    exports = [
        Route(path, HttpExport(intake, signal).__call__, methods=["POST"]) for path, signal in EXPORT_PATHS.items()
    ]
    routes = [
        *exports,
        Route("/healthz", _healthy, methods=["GET"]),
        Route("/readyz", _readiness(fault), methods=["GET"]),
        Route("/metrics", _metrics(intake), methods=["GET"]),
        *extra,
    ]
    app = Starlette(routes=routes, exception_handlers=_ON_ERRORS)
    # Senders do not follow a redirect with their body.
    app.router.redirect_slashes = False
    return app


async def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _readiness(fault: Callable[[], str | None]) -> Callable[[Request], Response]:
    def readiness(request: Request) -> Response:
        reason = fault()
        return PlainTextResponse(f"{reason or 'ready'}\n", status_code=503 if reason else 200)

    return readiness


def _metrics(intake: Intake) -> Callable[[Request], Response]:
    def metrics(request: Request) -> Response:
        if refused := intake.access.refusal(request.headers.get("authorization")):
            return refusal(refused, encoding="json")
        return Response(prometheus_text(intake.counters), media_type=PROMETHEUS_CONTENT_TYPE)

    return metrics


async def _no_such_thing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    why = _REFUSAL_OF_STATUS.get(status, Refusal.INVALID)
    known = ", ".join(EXPORT_PATHS)
    message = f"{request.method} {request.url.path} is not served here; POST to one of {known}"
    return refusal(Refused(why, message), encoding=request_encoding(request) or "json")


async def _defect(request: Request, error: Exception) -> Response:
    refused = Refused(Refusal.INTERNAL, "this request cannot be handled; the server's log says why")
    return refusal(refused, encoding=request_encoding(request) or "json")


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)


_ON_ERRORS = {HTTPException: _no_such_thing, ClientDisconnect: _gone, Exception: _defect}
