"""Questions to a trace store, and their answers."""

from tracekit.analysis.evidence import Evidence
from tracekit.analysis.failures import FailuresAnswer, failures
from tracekit.analysis.goodput import GoodputAnswer, goodput
from tracekit.analysis.measured import OUTCOMES, Metric
from tracekit.analysis.peaks import DEVICES, PRECISIONS
from tracekit.analysis.quality import QualityAnswer, quality
from tracekit.analysis.stragglers import StragglersAnswer, stragglers
from tracekit.analysis.tail import tail
from tracekit.analysis.tail_answer import TailAnswer

__all__ = [
    "DEVICES",
    "OUTCOMES",
    "PRECISIONS",
    "Evidence",
    "FailuresAnswer",
    "GoodputAnswer",
    "Metric",
    "QualityAnswer",
    "StragglersAnswer",
    "TailAnswer",
    "failures",
    "goodput",
    "quality",
    "stragglers",
    "tail",
]
