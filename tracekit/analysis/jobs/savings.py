"""What changes inside the steps of jobs would give back, by replay: beside their ledgers, never part of them."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis.jobs.whatif import step_evidence
from tracekit.analysis.replay.change import Change
from tracekit.analysis.replay.what_if import MINIMUM_SHARE, WhatIf, replay_of, replayed
from tracekit.errors import InsufficientDataError
from tracekit.store import Database

MOST_SPANS = 400_000
"""Steps of a job with more spans than this are not replayed unasked: that takes longer than the ledger."""

MOST_RANKS = 3
"""How many ranks are told, each without the others: those that would give back most."""

SAVINGS_SCHEMA = pl.Schema({
    "job_id": pl.String(), "change": pl.String(), "verdict": pl.String(), "saving": pl.Float64(),
    "saving_low": pl.Float64(), "saving_high": pl.Float64(), "step_ns": pl.Float64(), "after_ns": pl.Float64(),
    "steps": pl.Int64(), "spans": pl.Int64(), "given_back_ns": pl.Decimal(38, 0), "cost": pl.Float64(),
    "assumptions": pl.List(pl.String()),
})  # fmt: skip
"""What changes would give back, one row a job and change.

`verdict`: that of the what-if; `refused` and `too_large` are of jobs that were not replayed, with `change` null.
`saving`, `saving_low`, `saving_high`: shares of the mean step `step_ns`, which would take `after_ns`. `steps` were
replayed. `given_back_ns`: `saving` of the time of kept steps, for all accelerators; the savings of several changes do
not add up. `spans`: what the steps consist of.
"""


def job_savings(database: Database, *, job: str | None, kept: dict[str, int], hour_price: float | None) -> pl.DataFrame:
    """What it would give back if no rank were slower than its peers, all pipeline stages equal, or one rank gone.

    kept: nanoseconds of kept steps of each job whose steps are told. hour_price: of an accelerator for an hour. Rows
    are in `SAVINGS_SCHEMA`; a job without a step that can be replayed has none.
    """
    sizes = dict(database.query("whatif/step_sizes", job=job).iter_rows())
    found: list[dict[str, Any]] = []
    # Steps that name no job can be asked for only where there are no others.
    names = sorted(name for name in kept.keys() & sizes.keys() if name or len(sizes) == 1)
    for name in names:
        rows = _of_job(database, name, sizes[name])
        found += [
            {"job_id": name, "spans": sizes[name], **row} | _given_back(row, kept[name], hour_price) for row in rows
        ]
    return pl.DataFrame(found, schema=SAVINGS_SCHEMA)


def _of_job(database: Database, name: str, spans: int) -> list[dict[str, Any]]:
    if spans > MOST_SPANS:
        return [{"verdict": "too_large"}]
    if step_evidence(database, name or None).verdict == "refused":
        return [{"verdict": "refused"}]
    operations = database.query("whatif/step_operations", job=name or None)
    try:
        return [_row(each) for each in _tried(operations)] if operations.height else []
    except InsufficientDataError:
        return []


def _tried(operations: pl.DataFrame) -> list[WhatIf]:
    """All ranks as their peers, all stages alike where there are several, and the ranks that give back most."""
    steps = replay_of(operations)
    by_rank = steps.by_rank()
    worst = by_rank.filter(pl.col("saving") >= MINIMUM_SHARE).head(MOST_RANKS)["rank"].drop_nulls()
    changes = [Change("stragglers"), *(Change("rank", (str(rank),)) for rank in worst)]
    if operations["pipeline_stage"].n_unique() > 1:
        changes.insert(1, Change("imbalance"))
    return [replayed(steps, change, by_rank) for change in changes]


def _row(found: WhatIf) -> dict[str, Any]:
    return {
        "change": found.change, "verdict": found.verdict, "saving": found.saving,
        "saving_low": 1 - found.high / found.before, "saving_high": 1 - found.low / found.before,
        "step_ns": found.before, "after_ns": found.after, "steps": found.steps, "assumptions": found.assumptions,
    }  # fmt: skip


def _given_back(row: dict[str, Any], kept_ns: int, hour_price: float | None) -> dict[str, Any]:
    if row.get("saving") is None:
        return {}
    given_back_ns = round(row["saving"] * kept_ns)
    cost = None if hour_price is None else given_back_ns / 3_600_000_000_000 * hour_price
    return {"given_back_ns": given_back_ns, "cost": cost}
