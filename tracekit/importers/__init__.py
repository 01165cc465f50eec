"""Formats of others: files that are not OTLP, one module for each.

`tracekit.records.formats` says what a format has to do and how to add one. `FORMATS` names those that there are; they
are asked before OTLP, whose plain protobuf has no sign of its own to be known by.

`flight_recorder` reads dumps of PyTorch's Flight Recorder, `operation_tables` tables of the operations of training
steps; the frames they read can be analysed without a store, too.
"""

from __future__ import annotations

from tracekit.importers.dump_records import FlightRecorderDump
from tracekit.importers.operation_records import OperationTableFile
from tracekit.records import Format

__all__ = ["FORMATS", "FlightRecorderDump", "OperationTableFile"]

FORMATS: tuple[Format, ...] = (FlightRecorderDump(), OperationTableFile())
"""In the order in which they are asked."""
