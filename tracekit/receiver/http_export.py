"""OTLP over HTTP: bodies in, `google.rpc.Status` or export responses out, in the encoding of the request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tracekit.otlp import Encoding, Signal
from tracekit.receiver.bodies import response_body, status_body
from tracekit.receiver.budget import Reservation
from tracekit.receiver.compression import ENCODINGS, check_size, inflated
from tracekit.receiver.export import Export
from tracekit.receiver.intake import Intake
from tracekit.receiver.outcome import Accepted, Outcome, Refusal, Refused, RefusedError, stalled

MEDIA_TYPES: dict[Encoding, str] = {"protobuf": "application/x-protobuf", "json": "application/json"}
# Of the declared size this much is taken at once: bodies that could not be read to their end must not fill the room
# of others. Not all of it, since whoever only says that much is coming would have it for nothing.
_RESERVED_BYTES = 1 << 20
_ENCODING_OF = {media_type: encoding for encoding, media_type in MEDIA_TYPES.items()}


@dataclass(frozen=True, slots=True)
class HttpExport:
    """The endpoint of one signal."""

    intake: Intake
    signal: Signal

    async def __call__(self, request: Request) -> Response:
        """Answer one export request when its data is durable."""
        encoding = request_encoding(request)
        outcome: Outcome
        try:
            outcome = await self._outcome(request, encoding)
        except RefusedError as error:
            outcome = error.refused
            self.intake.counters.add_request("http", self.signal, outcome)
        except ClientDisconnect:
            return Response(status_code=499)
        return answer(outcome, signal=self.signal, encoding=encoding or "json")

    async def _outcome(self, request: Request, encoding: Encoding | None) -> Outcome:
        if refused := self.intake.access.refusal(request.headers.get("authorization")):
            raise RefusedError(refused)
        if encoding is None:
            raise RefusedError(_unsupported("Content-Type", ", ".join(_ENCODING_OF)))
        with self.intake.budget.reservation() as reservation:
            payload = await self._payload(request, reservation)
            return await self.intake.stored(Export(self.signal, encoding, payload, "http"))

    async def _payload(self, request: Request, reservation: Reservation) -> bytes:
        compression = request.headers.get("content-encoding", "identity").strip().lower() or "identity"
        if compression not in ENCODINGS:
            raise RefusedError(_unsupported("Content-Encoding", ", ".join(ENCODINGS)))
        limit_bytes = self.intake.max_request_bytes
        declared_bytes = _declared_bytes(request)
        check_size(declared_bytes, limit_bytes)
        reservation.grow(min(declared_bytes, _RESERVED_BYTES))
        try:
            async with asyncio.timeout(self.intake.body_timeout_s):
                body = await _body(request, reservation, limit_bytes)
        except TimeoutError as error:
            raise RefusedError(stalled(self.intake.body_timeout_s)) from error
        if compression == "identity":
            return body
        return await asyncio.to_thread(
            inflated, body, encoding=compression, limit_bytes=limit_bytes, grow=reservation.grow
        )


def request_encoding(request: Request) -> Encoding | None:
    """The encoding that the request's Content-Type names; None for a type that is not OTLP."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return _ENCODING_OF.get(media_type)


def answer(outcome: Outcome, *, signal: Signal, encoding: Encoding) -> Response:
    """The HTTP response to an export request."""
    if isinstance(outcome, Accepted):
        body = response_body(outcome, signal=signal, encoding=encoding)
        return Response(body, media_type=MEDIA_TYPES[encoding])
    return refusal(outcome, encoding=encoding)


def refusal(refused: Refused, *, encoding: Encoding) -> Response:
    """The HTTP response of a refusal."""
    headers: dict[str, str] = {}
    if refused.retry_after_s is not None:
        headers["Retry-After"] = str(refused.retry_after_s)
    if refused.why is Refusal.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if refused.why is Refusal.WRONG_METHOD:
        headers["Allow"] = "POST"
    return Response(
        status_body(refused, encoding=encoding),
        status_code=refused.why.http_status,
        media_type=MEDIA_TYPES[encoding],
        headers=headers,
    )


async def _body(request: Request, reservation: Reservation, limit_bytes: int) -> bytes:
    pieces: list[bytes] = []
    size_bytes = 0
    async for piece in request.stream():
        size_bytes += len(piece)
        check_size(size_bytes, limit_bytes)
        reservation.grow_to(size_bytes)
        pieces.append(piece)
    return b"".join(pieces)


def _declared_bytes(request: Request) -> int:
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() else 0


def _unsupported(header: str, known: str) -> Refused:
    return Refused(Refusal.UNSUPPORTED_MEDIA, f"unknown {header}; one of {known} is understood")
