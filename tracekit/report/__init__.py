"""Answers for people: text for a terminal, and the whole picture in one report."""

from tracekit.report.answers import ingest_output, quality_output, stragglers_output, tail_output
from tracekit.report.job_answers import failures_output, goodput_output
from tracekit.report.picture import report

__all__ = [
    "failures_output",
    "goodput_output",
    "ingest_output",
    "quality_output",
    "report",
    "stragglers_output",
    "tail_output",
]
