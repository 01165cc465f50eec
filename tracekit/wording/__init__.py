"""Sentences, durations and shares for every surface: command line, report, charts and app.

Analysis returns codes and numbers; importing this package teaches its answers to speak: `answer.summary`,
`finding.message`. One file an answer; numbers are put into words in `numbers` alone.
"""

from tracekit.wording.checks import finding_text
from tracekit.wording.compare import compare_summary
from tracekit.wording.hangs import hang_summary
from tracekit.wording.job_failures import failures_summary, first_cause_text, job_failures_summary
from tracekit.wording.job_goodput import goodput_summary, hours_text, job_goodput_summary
from tracekit.wording.metric_series import metrics_summary, quantity_text
from tracekit.wording.metrics import METRIC_NAMES
from tracekit.wording.numbers import (
    count_text,
    counted,
    difference_text,
    duration_text,
    exact_text,
    interval_text,
    moment_text,
    period_text,
    share_text,
)
from tracekit.wording.quality import quality_summary
from tracekit.wording.request_failures import request_failures_summary
from tracekit.wording.request_goodput import goodput_notes, request_goodput_summary
from tracekit.wording.request_whatif import request_whatif_summary
from tracekit.wording.stragglers import (
    culprit_text,
    heavy_stages_text,
    link_sentence,
    steps_text,
    stragglers_summary,
)
from tracekit.wording.tail import named_causes, tail_summary
from tracekit.wording.tail_growth import services_sentence
from tracekit.wording.tail_headline import tail_headline
from tracekit.wording.whatif import saving_text, savings_sentence, whatif_summary

__all__ = [
    "METRIC_NAMES",
    "compare_summary",
    "count_text",
    "counted",
    "culprit_text",
    "difference_text",
    "duration_text",
    "exact_text",
    "failures_summary",
    "finding_text",
    "first_cause_text",
    "goodput_notes",
    "goodput_summary",
    "hang_summary",
    "heavy_stages_text",
    "hours_text",
    "interval_text",
    "job_failures_summary",
    "job_goodput_summary",
    "link_sentence",
    "metrics_summary",
    "moment_text",
    "named_causes",
    "period_text",
    "quality_summary",
    "quantity_text",
    "request_failures_summary",
    "request_goodput_summary",
    "request_whatif_summary",
    "saving_text",
    "savings_sentence",
    "services_sentence",
    "share_text",
    "steps_text",
    "stragglers_summary",
    "tail_headline",
    "tail_summary",
    "whatif_summary",
]
