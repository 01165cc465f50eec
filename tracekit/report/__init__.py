"""Answers for people: text for a terminal, and the whole picture in one report."""

from tracekit.report.answers import ingest_output, quality_output, stragglers_output, tail_output
from tracekit.report.picture import report

__all__ = ["ingest_output", "quality_output", "report", "stragglers_output", "tail_output"]
