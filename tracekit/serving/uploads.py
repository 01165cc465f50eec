"""Files that `tracekit ingest` reads while this server holds the store: their bytes in, a report back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from tracekit.errors import StoreError, TracekitError, UsageError
from tracekit.ingest import FileReport, IncomingSource, ingest_sources
from tracekit.receiver import Access
from tracekit.remote import FILE_MEDIA_TYPE, packed
from tracekit.serving.answers import error_response
from tracekit.stages import update_units
from tracekit.store import Database

UPLOAD_PATH = "/api/ingest"

# One file at a time: it takes as much memory as receiving does.
_READER = ThreadPoolExecutor(1, thread_name_prefix="tracekit-ingest")
# Feeding waits for the reader, which must not stop the event loop.
_FEEDERS = ThreadPoolExecutor(4, thread_name_prefix="tracekit-uploads")


def upload_routes(database: Callable[[], Database], access: Access) -> list[BaseRoute]:
    """`POST /api/ingest?name=PATH&named=0|1&last=0|1` with a file's bytes answers its report, packed.

    `named` says whether the file was asked for by itself, `last` whether units are to be brought up to date.
    """

    async def upload(request: Request) -> Response:
        if refused := _refused(request, access):
            return refused
        try:
            return Response(json.dumps(packed(await _ingested(request, database()))), media_type="application/json")
        except StoreError as error:
            return error_response(error, status=503)
        except TracekitError as error:
            return error_response(error, status=400)
        except ClientDisconnect:
            return Response(status_code=499)

    return [Route(UPLOAD_PATH, upload, methods=["POST"])]


def _refused(request: Request, access: Access) -> JSONResponse | None:
    if refused := access.refusal(request.headers.get("authorization")):
        return error_response(UsageError(refused.message), status=401)
    # A browser sends this type to a foreign site only after asking, and this server does not agree.
    if request.headers.get("content-type") != FILE_MEDIA_TYPE:
        return error_response(UsageError(f"send a file with Content-Type: {FILE_MEDIA_TYPE}"), status=400)
    return None


async def _ingested(request: Request, database: Database) -> FileReport:
    asked = request.query_params
    source = IncomingSource(name=asked.get("name", "-"), is_named=asked.get("named", "1") == "1")
    after = update_units if asked.get("last", "1") == "1" else None
    loop = asyncio.get_running_loop()
    reading = loop.run_in_executor(_READER, partial(ingest_sources, database, [source], after=after))
    reading.add_done_callback(lambda _: source.stream.close())
    try:
        async for piece in request.stream():
            await loop.run_in_executor(_FEEDERS, source.stream.feed, piece)
    except ClientDisconnect:
        source.stream.finish("its sender went away")
        await reading
        raise
    source.stream.finish()
    (report,) = (await reading).files
    return report
