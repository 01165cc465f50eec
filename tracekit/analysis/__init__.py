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
from tracekit.analysis.batching import ServingChange
from tracekit.analysis.checks import CHECKS, Check, Finding
from tracekit.analysis.compare.answer import CompareAnswer
from tracekit.analysis.compare.question import compare
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.failures import FailuresAnswer, failures
from tracekit.analysis.goodput import GoodputAnswer, goodput
from tracekit.analysis.jobs.failures import JobFailures
from tracekit.analysis.jobs.goodput import JobGoodput
from tracekit.analysis.jobs.hangs import Hang, explain_hang
from tracekit.analysis.jobs.peaks import DEVICES, PRECISIONS
from tracekit.analysis.jobs.whatif import WhatIfAnswer, whatif
from tracekit.analysis.measured import BASELINE, SELECTION, MeasuredUnits, quantile_ns
from tracekit.analysis.metrics import MetricsAnswer, metrics
from tracekit.analysis.population import FROM_MESSAGE, IMPLAUSIBLE, NO_MODEL_CALL, OTHER_LAYER
from tracekit.analysis.quality import QualityAnswer, quality
from tracekit.analysis.replay import (
    Change,
    PublishedSlowdowns,
    ReplayBasis,
    WhatIf,
    observed_steps,
    pipeline_steps,
    published_slowdowns,
    what_if,
)
from tracekit.analysis.requests.failures import request_failures
from tracekit.analysis.requests.failures_answer import RequestFailures
from tracekit.analysis.requests.goodput import request_goodput
from tracekit.analysis.requests.goodput_answer import BUCKETS, Mode, RequestGoodput
from tracekit.analysis.requests.missed_stages import INTRINSIC
from tracekit.analysis.requests.slo import TERMS, Slo, SloSet, slo_file
from tracekit.analysis.requests.whatif import RequestWhatIf, request_whatif
from tracekit.analysis.requests.whatif_basis import WhatIfBasis
from tracekit.analysis.selection import CALLS_UNIT_LIMIT, Selection
from tracekit.analysis.statistics.blocks import MINIMUM_BLOCKS
from tracekit.analysis.stragglers.culprits import LOST_SHARE
from tracekit.analysis.stragglers.question import CLEAR_SHARE, MINIMUM_STEPS, TOLD_SHARE, StragglersAnswer, stragglers
from tracekit.analysis.tail.answer import TailAnswer
from tracekit.analysis.tail.changed_metrics import changed_metrics
from tracekit.analysis.tail.cohorts import REFERENCE, TAIL, Cohort, StageSums, band_cohort, edge_cohorts
from tracekit.analysis.tail.comparison import Comparison, Layout
from tracekit.analysis.tail.explain import chosen_quantile, tail
from tracekit.analysis.tail.judgement import Judgement, judge, judge_like
from tracekit.analysis.tail.verdict import (
    certain_stages,
    clear_differences,
    grown_stages,
    is_led_by_stages,
    is_load,
    is_mix,
    lacks_counterparts,
    large_stages,
    larger_work,
    load_bounds_ns,
    longer_ns,
    slower_calls,
    slower_for_some,
    slower_stages,
    told_stages,
)
from tracekit.analysis.tail.whose import clear_whose
from tracekit.analysis.tail.windows import window_cohort
from tracekit.analysis.worded import has_words, in_words, picture_for, words_for

__all__ = [
    "BASELINE",
    "BUCKETS",
    "CALLS_UNIT_LIMIT",
    "CHECKS",
    "CLEAR_SHARE",
    "DEVICES",
    "FROM_MESSAGE",
    "IMPLAUSIBLE",
    "INTRINSIC",
    "LOST_SHARE",
    "MINIMUM_BLOCKS",
    "MINIMUM_STEPS",
    "NO_MODEL_CALL",
    "OTHER_LAYER",
    "PRECISIONS",
    "REFERENCE",
    "SELECTION",
    "TAIL",
    "TERMS",
    "TOLD_SHARE",
    "UNITS_SCHEMA",
    "Answer",
    "AnswerKind",
    "BaseAnswer",
    "Change",
    "Check",
    "Cohort",
    "CompareAnswer",
    "Comparison",
    "Evidence",
    "FailuresAnswer",
    "Finding",
    "GoodputAnswer",
    "Hang",
    "JobFailures",
    "JobGoodput",
    "Judgement",
    "Layout",
    "MeasuredUnits",
    "MetricsAnswer",
    "Mode",
    "PublishedSlowdowns",
    "QualityAnswer",
    "ReplayBasis",
    "RequestFailures",
    "RequestGoodput",
    "RequestWhatIf",
    "Selection",
    "ServingChange",
    "Slo",
    "SloSet",
    "StageSums",
    "StragglersAnswer",
    "TailAnswer",
    "WhatIf",
    "WhatIfAnswer",
    "WhatIfBasis",
    "answer_kinds",
    "band_cohort",
    "certain_stages",
    "changed_metrics",
    "chosen_quantile",
    "clear_differences",
    "clear_whose",
    "compare",
    "edge_cohorts",
    "explain_hang",
    "failures",
    "goodput",
    "grown_stages",
    "has_words",
    "in_words",
    "is_led_by_stages",
    "is_load",
    "is_mix",
    "judge",
    "judge_like",
    "kind_of",
    "lacks_counterparts",
    "large_stages",
    "larger_work",
    "load_bounds_ns",
    "longer_ns",
    "metrics",
    "observed_steps",
    "picture_for",
    "pipeline_steps",
    "published_slowdowns",
    "quality",
    "quantile_ns",
    "question",
    "question_named",
    "questions",
    "registered",
    "request_failures",
    "request_goodput",
    "request_whatif",
    "slo_file",
    "slower_calls",
    "slower_for_some",
    "slower_stages",
    "stragglers",
    "tail",
    "told_stages",
    "what_if",
    "whatif",
    "window_cohort",
    "words_for",
]
