"""Serving runs of many millions of spans as Arrow tables, a batch of requests at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from generators.bulk import tables
from generators.parameters import Values
from generators.serving import counters, dialects, logs
from generators.serving.simulation import simulate, slices

IDS_APART = 2**32
"""Between the seeds of two batches, so that their ids differ."""


def batches(values: Values, *, seed: int, requests_each: int = 50_000) -> Iterator[dict[str, pa.Table]]:
    """Simulate a run and give its records as Arrow tables, so many requests at a time in order of arrival.

    Each batch stands alone: rows refer to `resources` and `scopes` of the same batch. Counters come with the
    first. A run of one batch carries what `generate` writes for the same values and seed, apart from defects.
    """
    run = simulate(values, seed=seed)
    for number, part in enumerate(slices(run, requests_each=requests_each)):
        own_seed = seed + number * IDS_APART
        emission = logs.with_logs(dialects.emission(part, seed=own_seed), part, seed=own_seed)
        yield tables(counters.with_counters(emission, run) if number == 0 else emission)
