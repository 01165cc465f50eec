"""Answers for people: text for a terminal, and the whole picture in one report."""

from tracekit.report.answers import answer_output, answer_text, text_for
from tracekit.report.compared import compare_output
from tracekit.report.html import check_drawable, page
from tracekit.report.job_answers import failures_text, goodput_text
from tracekit.report.metric_series import metrics_text
from tracekit.report.picture import Section, add_section, report
from tracekit.report.services import By, tail_output
from tracekit.report.whatif import request_whatif_text

__all__ = [
    "By",
    "Section",
    "add_section",
    "answer_output",
    "answer_text",
    "check_drawable",
    "compare_output",
    "failures_text",
    "goodput_text",
    "metrics_text",
    "page",
    "report",
    "request_whatif_text",
    "tail_output",
    "text_for",
]
