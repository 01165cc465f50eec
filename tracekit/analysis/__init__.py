"""Questions to a trace store, and their answers."""

from tracekit.analysis.compare import compare
from tracekit.analysis.compare_answer import CompareAnswer
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.measured import OUTCOMES, Metric
from tracekit.analysis.quality import QualityAnswer, quality
from tracekit.analysis.request_failures import request_failures
from tracekit.analysis.request_failures_answer import RequestFailures
from tracekit.analysis.request_goodput import request_goodput
from tracekit.analysis.request_goodput_answer import Mode, RequestGoodput
from tracekit.analysis.slo import SloSet, slo_file
from tracekit.analysis.stragglers import StragglersAnswer, stragglers
from tracekit.analysis.tail import tail
from tracekit.analysis.tail_answer import TailAnswer

__all__ = [
    "OUTCOMES",
    "CompareAnswer",
    "Evidence",
    "Metric",
    "Mode",
    "QualityAnswer",
    "RequestFailures",
    "RequestGoodput",
    "SloSet",
    "StragglersAnswer",
    "TailAnswer",
    "compare",
    "quality",
    "request_failures",
    "request_goodput",
    "slo_file",
    "stragglers",
    "tail",
]
