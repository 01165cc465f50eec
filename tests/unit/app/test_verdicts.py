"""What the app calls the codes of the vocabulary."""

from __future__ import annotations

from typing import get_args

from investigation import headlines, page, question, tables

from tracekit.analysis.compare.answer import Verdict as CompareVerdict
from tracekit.charts.culprit import BLAMELESS_VERDICTS
from tracekit.schema import METRICS, EvidenceVerdict, Outcome, TailVerdict


def test_every_verdict_has_a_label_and_a_colour() -> None:
    """A new verdict cannot be forgotten, and none is spelled that does not exist."""
    assert set(page._ANSWER_VERDICTS) == set(get_args(TailVerdict)) | set(get_args(CompareVerdict))
    assert set(page._VERDICT_COLOURS) == set(page._VERDICT_ICONS) == set(get_args(EvidenceVerdict))
    assert set(headlines._BADGES) == set(get_args(EvidenceVerdict))
    assert set(get_args(TailVerdict)) >= BLAMELESS_VERDICTS | headlines._NAMING_VERDICTS


def test_outcomes_and_metrics_are_those_of_the_vocabulary() -> None:
    """Unknown outcomes are grey, all others have a colour of their own."""
    assert set(tables._OUTCOME_COLOURS) == set(Outcome) - {Outcome.UNKNOWN}
    assert question.DEFAULT_METRIC in METRICS
