"""Spans that name their stage by `tracekit.stage`."""

from __future__ import annotations

import pytest

from tests.unit.stages.stored import SERVER, Span, store, times
from tracekit.store import Database


@pytest.mark.parametrize(
    ("value", "stage"),
    [
        ("gw.auth", "gw.auth"),
        ("step.compute", "step.compute"),
        ("data_load", "step.data_load"),
        ("forward", "step.compute"),
        ("backward", "step.compute"),
        ("optimizer", "step.compute"),
        ("copy", "step.copy"),
        ("collective", "step.exposed_comm"),
        ("checkpoint_save", "job.checkpoint_save"),
        ("checkpoint_load", "job.checkpoint_load"),
        ("init", "job.init"),
        ("attempt", "unattributed"),
        ("my.own.stage", "my.own.stage"),
    ],
)
def test_a_stage_is_a_short_word_a_code_or_anything_of_ones_own(database: Database, value: str, stage: str) -> None:
    """Short words stand for codes of the taxonomy; what is unknown is kept as it is."""
    store(database, [Span(1, 0, 100, "work", attributes={"tracekit.stage": value})])
    assert times(database) == {("e2e", stage, "work"): 100}


def test_what_a_span_says_itself_beats_every_other_mapping(database: Database) -> None:
    """The first mapping that knows a span decides, and our own convention comes first."""
    span = Span(1, 0, 100, "llm_request", kind=SERVER, attributes={"tracekit.stage": "eng.prefill"})
    store(database, [span])
    assert times(database) == {("e2e", "eng.prefill", "llm_request"): 100}
