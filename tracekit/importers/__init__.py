"""Formats of others: files that are not OTLP, one module for each.

`tracekit.records.formats` says what a format has to do and how to add one. `FORMATS` names those that there are; they
are asked before OTLP, whose plain protobuf has no sign of its own to be known by.

`json_exports` reads JSON of Jaeger, Tempo, Zipkin and console exporters, `flight_recorder` dumps of PyTorch's Flight
Recorder, `kineto` profiles of PyTorch's profiler, `operation_tables` tables of the operations of training steps; the
frames of the last three can be analysed without a store, too. `REFUSED` names formats that are known and not read; it
is asked last.
"""

from __future__ import annotations

from tracekit.importers.dump_records import FlightRecorderDump
from tracekit.importers.json_exports import JsonExport
from tracekit.importers.kineto_records import KinetoProfile
from tracekit.importers.operation_records import OperationTableFile
from tracekit.importers.refused import RefusedFormat
from tracekit.records import Format

__all__ = ["FORMATS", "REFUSED", "FlightRecorderDump", "JsonExport", "KinetoProfile", "OperationTableFile"]

FORMATS: tuple[Format, ...] = (FlightRecorderDump(), OperationTableFile(), KinetoProfile(), JsonExport())
"""In the order in which they are asked."""

REFUSED: Format = RefusedFormat()
"""Behind all others: what is known and not read."""
