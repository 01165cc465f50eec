"""Operation traces of the OSDI 2025 what-if analysis: the published slowdowns, and that the replay itself is exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tracekit.analysis.replay import PublishedSlowdowns, Steps, pipeline_steps, published_slowdowns
from tracekit.importers.operation_tables import read_operations

EXACT = 1e-6


def names(shared_data: Path) -> list[str]:
    return sorted(path.stem.removeprefix("trace-") for path in (shared_data / "osdi25").glob("trace-*.parquet"))


def steps_of(shared_data: Path, name: str) -> Steps:
    return pipeline_steps(read_operations(shared_data / "osdi25" / f"trace-{name}.parquet").operations)


def published(shared_data: Path, kind: str, name: str) -> dict[str, Any]:
    return json.loads((shared_data / "osdi25" / f"{kind}-{name}.json").read_text())


def _largest_difference(found: pl.DataFrame, expected: dict[str, float]) -> float:
    assert {str(key) for key, _ in found.iter_rows()} == set(expected)
    return max(abs(value - expected[str(key)]) for key, value in found.iter_rows())


def test_every_figure_of_the_paper_comes_out(shared_data: Path) -> None:
    """S, S_t, S_dp, S_stage, M_W and M_S."""
    for name in names(shared_data):
        found: PublishedSlowdowns = published_slowdowns(steps_of(shared_data, name))
        expected = published(shared_data, "result", name)
        assert found.slowdown == pytest.approx(expected["blocking_slowdown"], abs=EXACT)
        assert found.launch_slowdown == pytest.approx(expected["launch_slowdown"], abs=EXACT)
        assert _largest_difference(found.by_kind, expected["blocking_decompose_by_optype"]) < EXACT
        assert _largest_difference(found.by_replica, expected["blocking_decompose_by_dp_rank"]) < EXACT
        assert _largest_difference(found.by_stage, expected["blocking_decompose_by_stage"]) < EXACT
        workers, stage = published(shared_data, "mw", name), published(shared_data, "ms", name)
        assert found.worker_share == pytest.approx(workers["Mw"], abs=EXACT)
        assert found.stage_share == pytest.approx(stage["Ms"], abs=EXACT)
        assert found.original_ns / 1e9 == pytest.approx(workers["tori"], rel=EXACT)
        assert found.ideal_ns / 1e9 == pytest.approx(workers["tideal"], rel=EXACT)


def test_every_steps_slowdown_comes_out(shared_data: Path) -> None:
    for name in names(shared_data):
        found = published_slowdowns(steps_of(shared_data, name)).by_step
        assert _largest_difference(found, published(shared_data, "result", name)["blocking_step_slowdown"]) < EXACT


def test_the_replay_of_what_happened_is_what_happened(shared_data: Path) -> None:
    """With all times and delays kept every step ends to the nanosecond when it did."""
    for name in names(shared_data):
        steps = steps_of(shared_data, name)
        everything = np.ones(steps.own_ns.shape[1:], np.bool_)
        replayed_ns = steps.replayed(steps.own_ns[0], everything, with_delays=True)[:, 1]
        assert (replayed_ns == steps.observed_ns).all()
