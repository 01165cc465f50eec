"""The messages of an answer: export responses and `google.rpc.Status`, in protobuf and in JSON."""

from __future__ import annotations

from google.protobuf import json_format
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tracekit.otlp import Encoding, Signal
from tracekit.receiver.outcome import Accepted, Refused

_RESPONSES: dict[Signal, tuple[type[Message], str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
}
_NANOSECONDS = 1_000_000_000


def response_body(accepted: Accepted, *, signal: Signal, encoding: Encoding) -> bytes:
    """The export response; `partial_success` is set exactly when something was rejected."""
    kind, count_field = _RESPONSES[signal]
    response = kind()
    if accepted.rejected_count:
        setattr(response.partial_success, count_field, accepted.rejected_count)
        response.partial_success.error_message = accepted.message
    return encoded(response, encoding=encoding)


def status_body(refused: Refused, *, encoding: Encoding) -> bytes:
    """The `google.rpc.Status` of a refusal."""
    return encoded(status(refused), encoding=encoding)


def status(refused: Refused) -> status_pb2.Status:
    """The refusal with its details: `BadRequest` for wrong fields, `RetryInfo` where trying again may
    help."""
    message = status_pb2.Status(code=refused.why.grpc_code, message=refused.message)
    if refused.violations:
        violations = [
            error_details_pb2.BadRequest.FieldViolation(field=each.field, description=each.description)
            for each in refused.violations
        ]
        message.details.add().Pack(error_details_pb2.BadRequest(field_violations=violations))
    if refused.retry_after_s is not None:
        message.details.add().Pack(retry_info(refused.retry_after_s))
    return message


def retry_info(retry_after_s: float) -> error_details_pb2.RetryInfo:
    """`google.rpc.RetryInfo` with the delay."""
    info = error_details_pb2.RetryInfo()
    info.retry_delay.FromNanoseconds(int(retry_after_s * _NANOSECONDS))
    return info


def encoded(message: Message, *, encoding: Encoding) -> bytes:
    """A message as protobuf, or as JSON in one line."""
    if encoding == "protobuf":
        return message.SerializeToString()
    return json_format.MessageToJson(message, indent=None).encode()
