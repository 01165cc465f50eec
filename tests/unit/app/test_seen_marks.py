"""How far the data reached: what came, and what only caught up with it."""

from __future__ import annotations

import pytest
from investigation.seen_marks import Mark, new_spans

SEEN = Mark(span_count=10, metric_point_count=3, log_count=2, unit_count=4, newest_ingest=7, built_through=6)


@pytest.mark.parametrize(
    ("now", "is_the_same"),
    [
        (SEEN, True),
        (SEEN._replace(unit_count=9, built_through=7), True),
        (SEEN._replace(span_count=11), False),
        (SEEN._replace(metric_point_count=4), False),
        (SEEN._replace(log_count=1), False),
        (SEEN._replace(newest_ingest=8), False),
    ],
)
def test_units_that_catch_up_are_no_new_data(now: Mark, is_the_same: bool) -> None:
    assert now.holds_the_same_as(SEEN) == is_the_same


def test_a_store_that_was_sent_nothing_has_no_data() -> None:
    assert not Mark().has_data
    assert Mark(log_count=1).has_data


def test_pruning_leaves_fewer_spans_than_were_seen() -> None:
    assert new_spans(SEEN, SEEN._replace(span_count=4)) == -6
