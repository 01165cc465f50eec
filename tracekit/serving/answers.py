"""Questions to the store over HTTP, read-only: SQL as an Arrow stream, and the answers of `Store`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from tracekit import queries
from tracekit.api import Store
from tracekit.errors import QueryError, StoreError, TracekitError, UsageError
from tracekit.receiver.access import Access
from tracekit.remote.client import ROW_LIMIT, TRUNCATED_HEADER
from tracekit.remote.wire import frame_bytes, packed
from tracekit.store import Database, LimitedRows, read_only_sql

ANSWERS = ("tail", "stragglers", "goodput", "failures", "quality", "operations", "report")
_ARROW_STREAM = "application/vnd.apache.arrow.stream"
_DEFAULT_ROW_LIMIT = 10_000
_DEFAULT_TIME_LIMIT_S = 30.0
_TIME_LIMIT_S = 300.0
_WATCH_S = 0.2
_QUERY_NAME = re.compile(r"[a-z_]+/[a-z0-9_]+")

# Its own threads, so that slow questions never delay what arrives.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="tracekit-answers")

Answer = Callable[[Request, Database, dict[str, Any]], Any]


def answer_routes(database: Callable[[], Database], access: Access) -> list[BaseRoute]:
    """The read-only part of the HTTP port.

    `POST /api/sql` takes `{"sql", "parameters", "row_limit", "time_limit_s"}` and answers an Arrow stream;
    `POST /api/answers/NAME` takes `{"arguments", "options"}` and answers what `Store.NAME` does, packed.
    """
    guarded = _Guarded(database, access)
    return [
        Route("/api/sql", guarded.endpoint(_sql), methods=["POST"]),
        Route("/api/answers/query", guarded.endpoint(_query), methods=["POST"]),
        *(Route(f"/api/answers/{name}", guarded.endpoint(_stored_answer(name)), methods=["POST"]) for name in ANSWERS),
    ]


class _Guarded:
    """Lets in who may read, reads the JSON body, and tells errors by their class."""

    def __init__(self, database: Callable[[], Database], access: Access) -> None:
        self._database = database
        self._access = access

    def endpoint(self, answer: Answer) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            if refused := self._access.refusal(request.headers.get("authorization")):
                return error_response(UsageError(refused.message), status=401)
            if not self._access.allows_host(request.headers.get("host")):
                return error_response(UsageError("ask this server as 127.0.0.1 or localhost"), status=403)
            try:
                return await answer(request, self._database(), _parsed(await request.body(), request))
            except StoreError as error:
                return error_response(error, status=503)
            except TracekitError as error:
                return error_response(error, status=400)

        return respond


def _parsed(body: bytes, request: Request) -> dict[str, Any]:
    # A browser sends JSON to a foreign site only after asking, and this server does not agree.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UsageError("send JSON with Content-Type: application/json")
    try:
        parsed = json.loads(body)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise UsageError("the body must be a JSON object")
    return parsed


def error_response(error: TracekitError, *, status: int) -> JSONResponse:
    """An error by its class and message, as `RemoteStore` reads it."""
    return JSONResponse({"error": type(error).__name__, "message": str(error)}, status_code=status)


async def _sql(request: Request, database: Database, asked: dict[str, Any]) -> Response:
    rows = await _limited_rows(request, database, asked.get("sql"), asked)
    headers = {TRUNCATED_HEADER: "true"} if rows.truncated else {}
    return Response(frame_bytes(rows.frame), media_type=_ARROW_STREAM, headers=headers)


async def _query(request: Request, database: Database, asked: dict[str, Any]) -> Response:
    (name,) = asked["arguments"] if isinstance(asked.get("arguments"), list) else (None,)
    if not isinstance(name, str) or not _QUERY_NAME.fullmatch(name) or name not in queries.names(name.split("/")[0]):
        raise UsageError(f"there is no query {name!r}")
    limits = {"parameters": asked.get("options", {}), "row_limit": ROW_LIMIT, "time_limit_s": _TIME_LIMIT_S}
    rows = await _limited_rows(request, database, queries.text(name), limits)
    if rows.truncated:
        raise QueryError(f"the query {name} has more than {ROW_LIMIT} rows")
    return JSONResponse(packed(rows.frame))


def _stored_answer(name: str) -> Answer:
    async def answer(request: Request, database: Database, asked: dict[str, Any]) -> Response:
        arguments, options = asked.get("arguments", []), asked.get("options", {})
        try:
            ask = partial(getattr(Store(database), name), *arguments, **options)
            found = await asyncio.get_running_loop().run_in_executor(_THREADS, ask)
        except TypeError as error:
            raise UsageError(f"{name}: {error}") from error
        return Response(json.dumps(packed(found)), media_type="application/json")

    return answer


async def _limited_rows(request: Request, database: Database, statement: object, asked: dict[str, Any]) -> LimitedRows:
    """Rows of a statement in a thread of its own; it is stopped when the one who asked goes away."""
    if not isinstance(statement, str):
        raise UsageError('give the statement as a string under "sql"')
    stop: list[Callable[[], None]] = []
    ask = partial(
        read_only_sql,
        database,
        statement,
        parameters=asked.get("parameters") or {},
        row_limit=_within(asked.get("row_limit"), _DEFAULT_ROW_LIMIT, ROW_LIMIT),
        time_limit_s=_within(asked.get("time_limit_s"), _DEFAULT_TIME_LIMIT_S, _TIME_LIMIT_S),
        interruptible=stop.append,
    )
    running = asyncio.get_running_loop().run_in_executor(_THREADS, ask)
    while not running.done():
        await asyncio.wait([running], timeout=_WATCH_S)
        if stop and not running.done() and await request.is_disconnected():
            stop[0]()
    return await running


def _within(value: object, default: float, limit: float) -> Any:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise UsageError("limits are positive numbers")
    return type(default)(min(value, limit))
