"""Questions to a trace store, and their answers."""

from tracekit.analysis.tail import tail
from tracekit.analysis.tail_answer import TailAnswer

__all__ = ["TailAnswer", "tail"]
