"""OTLP over gRPC: the three export services, on raw bytes, so that no message objects are made.

A message is read when there is room for it. So its handler is one of a stream, of which it reads one message: on the
wire there is no difference, and what has not been read stays with the sender, but for 64 KiB. It is not taken from the
stream's iterator, which would hold it until the garbage collector comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn

import grpc
import grpc.aio

from tracekit.otlp import SIGNALS, Signal
from tracekit.receiver.bodies import response_body, retry_info, status
from tracekit.receiver.budget import Reservation
from tracekit.receiver.export import Export
from tracekit.receiver.intake import Intake
from tracekit.receiver.outcome import Outcome, Refusal, Refused, RefusedError, stalled
from tracekit.receiver.reading import ReadingPlaces

SERVICES: dict[Signal, str] = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_MAX_RESPONSE_BYTES = 4 << 20
_LEAST_BYTES = 1

Handler = Callable[[AsyncIterator[bytes], grpc.aio.ServicerContext], Awaitable[bytes]]


def grpc_server(intake: Intake) -> grpc.aio.Server:
    """A server with the three services and no port yet; belongs to the running event loop."""
    server = grpc.aio.server(options=_options(intake.max_request_bytes))
    reading = ReadingPlaces()
    server.add_generic_rpc_handlers(
        tuple(
            grpc.method_handlers_generic_handler(
                SERVICES[signal], {"Export": grpc.stream_unary_rpc_method_handler(_export(intake, signal, reading))}
            )
            for signal in SIGNALS
        )
    )
    return server


def _options(max_request_bytes: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", max_request_bytes),
        ("grpc.max_send_message_length", _MAX_RESPONSE_BYTES),
        # What has not been asked for may wait here up to the smallest window, not up to what the line carries.
        ("grpc.http2.bdp_probe", 0),
        # Two servers on one port would share its connections at random.
        ("grpc.so_reuseport", 0),
        # Collectors ping idle connections; without this they would be told to go away.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        # Who has gone without a word is noticed, and who connects without one.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.server_handshake_timeout_ms", 10_000),
        ("grpc.max_concurrent_streams", 256),
        ("grpc.max_metadata_size", 16 << 10),
        ("grpc.absolute_max_metadata_size", 32 << 10),
    ]


def _export(intake: Intake, signal: Signal, reading: ReadingPlaces) -> Handler:
    async def export(_: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> bytes:
        outcome = await _outcome(intake, signal, context, reading)
        if isinstance(outcome, Refused):
            await _abort(context, outcome)
        return response_body(outcome, signal=signal, encoding="protobuf")

    return export


async def _outcome(
    intake: Intake, signal: Signal, context: grpc.aio.ServicerContext, reading: ReadingPlaces
) -> Outcome:
    try:
        if refused := intake.access.refusal(_authorization(context)):
            raise RefusedError(refused)
        with intake.budget.reservation() as reservation:
            payload = await _payload(intake, context, reservation, reading)
            return await intake.stored(Export(signal, "protobuf", payload, "grpc"))
    except RefusedError as error:
        intake.counters.add_request("grpc", signal, error.refused)
        return error.refused


async def _payload(
    intake: Intake, context: grpc.aio.ServicerContext, reservation: Reservation, reading: ReadingPlaces
) -> bytes:
    """The one message of a call, read when few others are being read: its size is not known before."""
    try:
        async with asyncio.timeout(intake.body_timeout_s), reading.place():
            # Where nothing more fits, the message need not be read to be refused.
            reservation.grow_to(_LEAST_BYTES)
            payload = await context.read()
    except TimeoutError as error:
        raise RefusedError(stalled(intake.body_timeout_s)) from error
    if not isinstance(payload, bytes):
        raise RefusedError(Refused(Refusal.INVALID, "the call has no message"))
    reservation.grow_to(len(payload))
    return payload


def _authorization(context: grpc.aio.ServicerContext) -> str | None:
    found = (value for key, value in context.invocation_metadata() or () if key == "authorization")
    value = next(found, None)
    return value if isinstance(value, str) else None


async def _abort(context: grpc.aio.ServicerContext, refused: Refused) -> NoReturn:
    details = [("grpc-status-details-bin", status(refused).SerializeToString())]
    if refused.retry_after_s is not None:
        # The Python exporter reads the delay from a trailer of its own.
        info = retry_info(refused.retry_after_s).SerializeToString()
        details.append(("google.rpc.retryinfo-bin", info))
    await context.abort(_CODES[refused.why.grpc_code], refused.message, tuple(details))
    raise AssertionError("abort always raises")
