"""Ledgers and first causes of generated jobs hold their bounds, damaged ones too."""

from __future__ import annotations

import pytest

from generators.job.causes import CAUSES
from tests.accuracy.ledgers import Lived, lived, scored

SMALL = {"job.accelerators": 128, "run.steps": 2000, "failures.per_1000_node_days": 1000.0}


WITHIN = ("clean", "missing roots", "whole milliseconds")
"""Defects under which no leaf is off; lost spans and clocks apart move time between leaves, never out of the sum."""


@pytest.fixture(scope="module")
def life() -> Lived:
    """A small job with several failures."""
    return lived("job_life", seed=21, overrides=SMALL)


@pytest.mark.parametrize("defect", [*WITHIN, "missing 5 %", "skew 2 min"])
def test_leaves_sum_exactly_each_within_its_bound_and_every_host_is_right(life: Lived, defect: str) -> None:
    score = scored(life, defect=defect)
    assert score["wrong"] == {} or defect not in WITHIN
    assert score["is_exact"]
    assert score["failures"] == score["found"] == score["hosts_right"]
    assert score["false"] == 0
    assert score["kinds_right"] == score["kinds_told"]


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("cause", ["nic", "software_bug", "power_supply", "network_switch"])
def test_each_way_to_fail_names_its_host(cause: str, *, hangs: bool) -> None:
    """With a message, without one, and where no host failed at all."""
    told = {
        "fault.cause": cause,
        "fault.hangs": hangs,
        "fault.at_s": 7000.0,
        "run.steps": 1600,
        "job.accelerators": 128,
    }
    score = scored(lived("job_hang", seed=5, overrides=told))
    assert (score["failures"], score["hosts_right"]) == (1, 1)
    assert cause in {one.name for one in CAUSES}
