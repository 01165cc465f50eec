"""Formats of others: files that are not OTLP, one module for each.

`tracekit.records.formats` says what a format has to do and how to add one. `FORMATS` names those that there are; they
are asked before OTLP, whose plain protobuf has no sign of its own to be known by.
"""

from __future__ import annotations

from tracekit.records import Format

FORMATS: tuple[Format, ...] = ()
"""In the order in which they are asked."""
