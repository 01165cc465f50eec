"""Log records as columns, and their ways out: the SDK's exporters, and an Arrow table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import TraceFlags

from generators.errors import ExportError

if TYPE_CHECKING:
    from generators.spans import Emission

INFO, WARN, ERROR = 9, 13, 17
"""OTLP severity numbers."""
NAMES = {INFO: "INFO", WARN: "WARN", ERROR: "ERROR"}
BATCH_RECORDS = 512
NO_TRACE = -1


@dataclass(frozen=True)
class LogGroup:
    """Log records of one scope and severity, one array element a record."""

    scope: str
    severity: int
    resource: np.ndarray
    """Index into `Emission.resources`."""
    time_ns: np.ndarray
    body: np.ndarray
    """Texts (object)."""
    trace: np.ndarray
    """Index into `Emission.trace_high`, -1 for a record outside any trace."""
    span_id: np.ndarray
    """uint64; 0 for a record outside any span."""
    attributes: Mapping[str, np.ndarray | str | int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.time_ns.size


@dataclass(frozen=True)
class _Row:
    """One record as plain values."""

    time_ns: int
    resource: int
    scope: str
    severity: int
    body: str
    trace_id: int
    span_id: int
    attributes: dict[str, Any]


def rows(emission: Emission) -> list[_Row]:
    """All records in order of time."""
    found = [row for group in emission.logs for row in _rows(emission, group)]
    return sorted(found, key=lambda row: row.time_ns)


def _rows(emission: Emission, group: LogGroup) -> list[_Row]:
    columns = {
        key: value.tolist() if isinstance(value, np.ndarray) else [value] * len(group)
        for key, value in group.attributes.items()
    }
    traces = group.trace.tolist()
    ids = [
        0 if trace == NO_TRACE else int(emission.trace_high[trace]) << 64 | int(emission.trace_low[trace])
        for trace in traces
    ]
    told = zip(group.time_ns.tolist(), group.resource.tolist(), group.body.tolist(), ids, group.span_id.tolist(),
               strict=True)  # fmt: skip
    return [
        _Row(time_ns, resource, group.scope, group.severity, body, trace_id, span_id,
             {key: column[number] for key, column in columns.items()})
        for number, (time_ns, resource, body, trace_id, span_id) in enumerate(told)
    ]  # fmt: skip


def export_logs(emission: Emission, exporter: LogRecordExporter) -> None:
    """Export every record in order of time, in batches of one resource.

    Raises `ExportError` where the exporter fails.
    """
    resources = [Resource(dict(resource)) for resource in emission.resources]
    for number, run in groupby(rows(emission), key=lambda row: row.resource):
        records = [_record(row, resources[number]) for row in run]
        for first in range(0, len(records), BATCH_RECORDS):
            result = exporter.export(records[first : first + BATCH_RECORDS])
            if result is not LogRecordExportResult.SUCCESS:
                raise ExportError("the logs could not be delivered; is the endpoint up, or the disk full?")
    exporter.shutdown()


def _record(row: _Row, resource: Resource) -> ReadableLogRecord:
    record = LogRecord(
        timestamp=row.time_ns, observed_timestamp=row.time_ns, trace_id=row.trace_id, span_id=row.span_id,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if row.trace_id else TraceFlags.DEFAULT),
        severity_text=NAMES[row.severity], severity_number=SeverityNumber(row.severity), body=row.body,
        attributes=row.attributes,
    )  # fmt: skip
    return ReadableLogRecord(record, resource, InstrumentationScope(row.scope))


def table(emission: Emission, scopes: list[str]) -> pa.Table:
    """The records as the table `logs` of tracekit's decoder."""
    found = rows(emission)
    texts = [json.dumps(row.attributes, separators=(",", ":")) if row.attributes else None for row in found]
    return pa.table({
        "resource_row": pa.array([row.resource for row in found], pa.int32()),
        "scope_row": pa.array([scopes.index(row.scope) for row in found], pa.int32()),
        "time_ns": pa.array([row.time_ns for row in found], pa.int64()),
        "observed_time_ns": pa.array([row.time_ns for row in found], pa.int64()),
        "severity_number": pa.array([row.severity for row in found], pa.uint8()),
        "severity_text": pa.array([NAMES[row.severity] for row in found], pa.string()),
        "body": pa.array([json.dumps(row.body) for row in found], pa.string()),
        "attributes": pa.array(texts, pa.string()),
        "dropped_attributes_count": pa.array([0] * len(found), pa.uint32()),
        "flags": pa.array([int(row.trace_id != 0) for row in found], pa.uint32()),
        "trace_id": pa.array([row.trace_id.to_bytes(16) if row.trace_id else None for row in found], pa.binary(16)),
        "span_id": pa.array([row.span_id or None for row in found], pa.uint64()),
        "event_name": pa.array([""] * len(found), pa.string()),
    })  # fmt: skip
