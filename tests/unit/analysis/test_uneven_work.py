"""Work that differs by what ranks are given, and work that differs for other reasons: times in, a finding or none."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.analysis.stragglers.uneven_work import uneven_excess, uneven_work

MS = 1_000_000
RANKS, STEPS = 4, 30
JOBS = pl.DataFrame({"job_id": ["job"], "wall_ns": [RANKS * STEPS * 200 * MS], "waited_ns": [RANKS * STEPS * 50 * MS]})


def own(given: np.ndarray, noise: np.ndarray | float = 0.0) -> pl.DataFrame:
    """Forward 40 ms and backward 80 ms times what a rank is given in a step, each with noise of its own."""
    rows = []
    for (step, rank), share in np.ndenumerate(given):
        for at, (operation, ms) in enumerate((("forward", 40), ("backward", 80))):
            chance = noise if isinstance(noise, float) else noise[at, step, rank]
            row = ("job", 0, step, rank, "", "step.compute", operation, round(ms * MS * share * (1 + chance)))
            rows.append(row)
    columns = ["job_id", "attempt", "step", "rank", "role", "stage", "operation", "own_ns"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_sequences_of_different_length_are_told() -> None:
    given = np.exp(np.random.default_rng(1).normal(0, 0.2, (STEPS, RANKS)))
    found = uneven_work(own(given), JOBS)
    [row] = found.to_dicts()
    assert (row["operation"], row["ranks"], row["steps"]) == ("backward, forward", RANKS, STEPS)
    assert row["correlation"] > 0.99
    behind = sum((line.max() - line).sum() for line in given)
    assert abs(row["waited_ns"] / (120 * MS) - behind) < 1e-4
    above = uneven_excess(own(given), found)
    assert (above["excess_ns"] > 0).all()
    assert len(above) <= RANKS * STEPS / 2


def test_noise_of_the_machines_is_none() -> None:
    """As large, and each operation for itself."""
    noise = np.random.default_rng(2).normal(0, 0.1, (2, STEPS, RANKS))
    assert uneven_work(own(np.ones((STEPS, RANKS)), noise), JOBS).is_empty()


def test_ranks_that_are_always_slower_are_none() -> None:
    given = np.tile([1.0, 1.1, 1.2, 1.3], (STEPS, 1))
    assert uneven_work(own(given), JOBS).is_empty()


def test_a_little_is_none() -> None:
    given = np.exp(np.random.default_rng(1).normal(0, 0.01, (STEPS, RANKS)))
    assert uneven_work(own(given), JOBS).is_empty()
