"""Training runs of many millions of spans as Arrow tables, some steps at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from generators.bulk import tables
from generators.parameters import Values
from generators.training import counters, logs
from generators.training.emission import emission
from generators.training.simulation import simulate, slices

IDS_APART = 2**32
"""Between the seeds of two batches, so that their ids differ."""


def batches(values: Values, *, seed: int, steps_each: int = 16) -> Iterator[dict[str, pa.Table]]:
    """Simulate a run and give its records as Arrow tables, so many steps at a time.

    Each batch stands alone: rows refer to `resources` and `scopes` of the same batch. Counters come with the
    first. A run of one batch carries what `generate` writes for the same values and seed, apart from defects.
    """
    run = simulate(values, seed=seed)
    for place, part in enumerate(slices(run, steps_each=steps_each)):
        spans = logs.with_logs(emission(part, seed=seed + place * IDS_APART), part)
        yield tables(counters.with_counters(spans, run) if place == 0 else spans)
