"""Questions to a trace store, and their answers: codes and numbers; `tracekit.wording` puts them into sentences."""

from tracekit.analysis.answer import (
    UNITS_SCHEMA,
    Answer,
    AnswerKind,
    BaseAnswer,
    answer_kinds,
    kind_of,
    question,
    question_named,
    questions,
    registered,
)
from tracekit.analysis.blocks import MINIMUM_BLOCKS
from tracekit.analysis.checks import CHECKS, Check, Finding
from tracekit.analysis.cohorts import REFERENCE, TAIL, Cohort, StageSums, band_cohort, edge_cohorts
from tracekit.analysis.comparison import Comparison, Layout
from tracekit.analysis.culprits import LOST_SHARE
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.judgement import Judgement, judge
from tracekit.analysis.measured import BASELINE, SELECTION, MeasuredUnits, quantile_ns
from tracekit.analysis.quality import QualityAnswer, quality
from tracekit.analysis.selection import Selection
from tracekit.analysis.stragglers import CLEAR_SHARE, MINIMUM_STEPS, TOLD_SHARE, StragglersAnswer, stragglers
from tracekit.analysis.tail import tail
from tracekit.analysis.tail_answer import TailAnswer
from tracekit.analysis.verdict import (
    is_load,
    is_mix,
    lacks_counterparts,
    large_stages,
    larger_work,
    slower_calls,
    slower_stages,
)
from tracekit.analysis.windows import window_cohort
from tracekit.analysis.worded import has_words, in_words, words_for

__all__ = [
    "BASELINE",
    "CHECKS",
    "CLEAR_SHARE",
    "LOST_SHARE",
    "MINIMUM_BLOCKS",
    "MINIMUM_STEPS",
    "REFERENCE",
    "SELECTION",
    "TAIL",
    "TOLD_SHARE",
    "UNITS_SCHEMA",
    "Answer",
    "AnswerKind",
    "BaseAnswer",
    "Check",
    "Cohort",
    "Comparison",
    "Evidence",
    "Finding",
    "Judgement",
    "Layout",
    "MeasuredUnits",
    "QualityAnswer",
    "Selection",
    "StageSums",
    "StragglersAnswer",
    "TailAnswer",
    "answer_kinds",
    "band_cohort",
    "edge_cohorts",
    "has_words",
    "in_words",
    "is_load",
    "is_mix",
    "judge",
    "kind_of",
    "lacks_counterparts",
    "large_stages",
    "larger_work",
    "quality",
    "quantile_ns",
    "question",
    "question_named",
    "questions",
    "registered",
    "slower_calls",
    "slower_stages",
    "stragglers",
    "tail",
    "window_cohort",
    "words_for",
]
