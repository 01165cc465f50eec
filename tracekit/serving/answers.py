"""Questions to the store over HTTP, read-only: SQL as an Arrow stream, and the answers of `Store`."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from tracekit import queries
from tracekit.api import Store, questions
from tracekit.errors import BusyError, QueryError, StoreError, TracekitError, UsageError
from tracekit.receiver import Access
from tracekit.remote import ROW_LIMIT, TRUNCATED_HEADER, packed, received
from tracekit.serving.governor import Governor, Question
from tracekit.serving.spooled import spooled_rows
from tracekit.store import Database

_log = logging.getLogger(__name__)

ANSWERS = (*questions(), "operations", "report")
_ARROW_STREAM = "application/vnd.apache.arrow.stream"
_DEFAULT_ROW_LIMIT = 10_000
_DEFAULT_TIME_LIMIT_S = 30.0
# A statement with its parameters; the largest that ships with tracekit has some kilobytes.
_MAX_BODY_BYTES = 1 << 20
_STATUS_OF: tuple[tuple[type[TracekitError], int], ...] = ((BusyError, 429), (StoreError, 503), (TracekitError, 400))

Answer = Callable[[Request, Governor, dict[str, Any]], Awaitable[Response]]


def answer_routes(governor: Governor, access: Access) -> list[BaseRoute]:
    """The read-only part of the HTTP port.

    `POST /api/sql` takes `{"sql", "parameters", "row_limit", "time_limit_s"}` and answers an Arrow stream; a parameter
    that JSON does not have is text under its type, as `{"$datetime": "2026-01-02T03:04:05"}` (`remote.parameters`).
    `POST /api/answers/NAME` takes `{"arguments", "options", "time_limit_s"}` and answers what `Store.NAME` does,
    packed.
    """
    guarded = _Guarded(governor, access)
    return [
        Route("/api/sql", guarded.endpoint(_sql), methods=["POST"]),
        Route("/api/answers/query", guarded.endpoint(_query), methods=["POST"]),
        *(Route(f"/api/answers/{name}", guarded.endpoint(_stored_answer(name)), methods=["POST"]) for name in ANSWERS),
    ]


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Lets in who may read, reads the JSON body, and tells errors by their class."""

    governor: Governor
    access: Access

    def endpoint(self, answer: Answer) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            if refused := self.access.refusal(request.headers.get("authorization")):
                return error_response(UsageError(refused.message), status=401)
            try:
                return await answer(request, self.governor, await _asked(request))
            except TracekitError as error:
                return error_response(error, status=status_of(error))

        return respond


def status_of(error: TracekitError) -> int:
    """The HTTP status of an error: 429 and 503 where asking later helps."""
    return next(status for kind, status in _STATUS_OF if isinstance(error, kind))


async def _asked(request: Request) -> dict[str, Any]:
    # A browser sends JSON to a foreign site only after asking, and this server does not agree.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("send JSON with Content-Type: application/json")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_BODY_BYTES:
            raise UsageError(f"a question may have {_MAX_BODY_BYTES} bytes, this one has more; ask for less at once")
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise UsageError("the body must be a JSON object")
    return parsed


def error_response(error: TracekitError, *, status: int) -> JSONResponse:
    """An error by its class, message and facts, as `RemoteStore` reads it."""
    headers = {"Retry-After": "1"} if status in (429, 503) else None
    told = {"error": type(error).__name__, "message": str(error), "facts": error.facts}
    return JSONResponse(told, status_code=status, headers=headers)


async def _sql(request: Request, governor: Governor, asked: dict[str, Any]) -> Response:
    statement, parameters = asked.get("sql"), asked.get("parameters")
    if not isinstance(statement, str):
        raise UsageError('give the statement as a string under "sql"')
    row_limit = int(_within(asked, "row_limit", _DEFAULT_ROW_LIMIT, ROW_LIMIT))
    work = partial(
        spooled_rows,
        statement=statement,
        parameters=_parameters(parameters, "parameters"),
        row_limit=row_limit,
        most_bytes=governor.limits.output_bytes,
    )
    rows = await _answered(request, governor, asked, work, default_s=_DEFAULT_TIME_LIMIT_S, is_sql=True)
    headers = {TRUNCATED_HEADER: "true"} if rows.truncated else {}
    return StreamingResponse(rows.pieces(), media_type=_ARROW_STREAM, headers=headers)


async def _query(request: Request, governor: Governor, asked: dict[str, Any]) -> Response:
    (name,) = asked["arguments"] if _is_list_of_one(asked.get("arguments")) else (None,)
    if not isinstance(name, str) or not queries.is_known(name):
        raise UsageError(f"there is no query {str(name)[:200]!r}", option="query", value=str(name)[:200])
    parameters = _parameters(asked.get("options"), "options")
    return await _packed_answer(request, governor, asked, lambda store: store.query(name, **parameters))


def _stored_answer(name: str) -> Answer:
    async def answer(request: Request, governor: Governor, asked: dict[str, Any]) -> Response:
        arguments, options = asked.get("arguments") or [], _mapping(asked.get("options"), "options")
        if not isinstance(arguments, list):
            raise UsageError("arguments are a list")

        def ask(store: Store) -> Any:
            question = partial(store.ask, name) if name in questions() else getattr(store, name)
            return question(*arguments, **options)

        return await _packed_answer(request, governor, asked, ask)

    return answer


async def _packed_answer(
    request: Request, governor: Governor, asked: dict[str, Any], ask: Callable[[Store], Any]
) -> Response:
    def work(question: Question, database: Database) -> bytes:
        try:
            answer = json.dumps(packed(ask(Store(database)))).encode()
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            question.check()
            if isinstance(error, TracekitError):
                raise
            _log.info("a question cannot be answered", exc_info=True)
            raise UsageError(f"{request.url.path}: {error}") from error
        if len(answer) > governor.limits.output_bytes:
            raise QueryError(f"the answer has more than {governor.limits.output_bytes} bytes; ask for less")
        return answer

    found = await _answered(request, governor, asked, work, default_s=governor.limits.time_s)
    return Response(found, media_type="application/json")


async def _answered(
    request: Request,
    governor: Governor,
    asked: dict[str, Any],
    work: Callable[[Question, Database], Any],
    *,
    default_s: float,
    is_sql: bool = False,
) -> Any:
    time_limit_s = _within(asked, "time_limit_s", default_s, governor.limits.time_s)
    has_left = request.is_disconnected
    return await governor.answer(work, time_limit_s=time_limit_s, has_left=has_left, is_sql=is_sql)


def _within(asked: dict[str, Any], name: str, default: float, limit: float) -> float:
    value = asked.get(name)
    if value is None:
        return default
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not value > 0 or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(
            f"{name} is a positive number, this is {str(value)[:100]!r}", option=name, value=str(value)[:100]
        )
    return min(value, limit)


def _parameters(value: object, name: str) -> dict[str, Any]:
    try:
        return {key: received(each) for key, each in _mapping(value, name).items()}
    except RecursionError as error:
        raise UsageError(f"{name} are nested too deep") from error


def _mapping(value: object, name: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{name} are a JSON object of names and values")
    return value


def _is_list_of_one(value: object) -> bool:
    return isinstance(value, list) and len(value) == 1
