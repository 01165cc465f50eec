"""Questions to a trace store, and their answers."""

from tracekit.analysis.evidence import Evidence
from tracekit.analysis.measured import OUTCOMES, Metric
from tracekit.analysis.quality import QualityAnswer, quality
from tracekit.analysis.stragglers import StragglersAnswer, stragglers
from tracekit.analysis.tail import tail
from tracekit.analysis.tail_answer import TailAnswer

__all__ = [
    "OUTCOMES",
    "Evidence",
    "Metric",
    "QualityAnswer",
    "StragglersAnswer",
    "TailAnswer",
    "quality",
    "stragglers",
    "tail",
]
