"""What a store holds in the formats of other tools: the trace event format that Perfetto opens, and rows of spans."""

from tracekit.export.perfetto import PerfettoTrace, Records, perfetto
from tracekit.export.selection import Selection, records, span_rows

__all__ = ["PerfettoTrace", "Records", "Selection", "perfetto", "records", "span_rows"]
