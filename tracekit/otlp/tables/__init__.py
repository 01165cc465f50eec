"""Events to Arrow tables: resources and scopes, spans, metrics and logs, attributes as JSON text.

`pivot` sorts events into the rows of each record type, a `Reading` makes columns of them, and `trace_tables`,
`metric_tables` and `log_tables` the tables of a signal. What cannot be stored is marked row by row in a `Verdict`.
"""

from tracekit.otlp.tables.attributes import Source
from tracekit.otlp.tables.containers import RECORDS_OF, containers
from tracekit.otlp.tables.doubles import faults_and_doubles, json_doubles, number_texts
from tracekit.otlp.tables.logs import log_tables
from tracekit.otlp.tables.metrics import metric_tables
from tracekit.otlp.tables.reading import Reading
from tracekit.otlp.tables.rows import pivot
from tracekit.otlp.tables.traces import trace_tables

__all__ = [
    "RECORDS_OF",
    "Reading",
    "Source",
    "containers",
    "faults_and_doubles",
    "json_doubles",
    "log_tables",
    "metric_tables",
    "number_texts",
    "pivot",
    "trace_tables",
]
