"""The bytes of OTLP documents to events: protobuf and JSON, after the same tables of fields.

`walk` runs the walker of an encoding over some documents. What it gives is an array of events, one for each field in
the order of the bytes, the same for both encodings. `PLAN`, `CODE` and `NAMES` are OTLP's fields, taken from the
official descriptors.
"""

from tracekit.otlp.wire.events import MAX_NEST, entries_of
from tracekit.otlp.wire.fields import CODE, NAMES, PLAN, RECORDS, Plan, json_name
from tracekit.otlp.wire.walk import Walk, walk

__all__ = ["CODE", "MAX_NEST", "NAMES", "PLAN", "RECORDS", "Plan", "Walk", "entries_of", "json_name", "walk"]
