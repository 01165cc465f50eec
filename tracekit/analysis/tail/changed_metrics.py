"""In which metrics a store changed: what `tail` would look at, without the comparison that takes most of its time."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tracekit.analysis.answer import question
from tracekit.analysis.selection import Selection
from tracekit.analysis.tail.change import found_changes
from tracekit.analysis.tail.explain import TailQuestion
from tracekit.schema import METRICS, OUTCOMES, Metric, UnitKind
from tracekit.store import Database

CHANGED_METRICS_SCHEMA = pl.Schema([("metric", pl.String()), ("episode_count", pl.Int64())])


@question("changed_metrics")
def changed_metrics(
    database: Database, metrics: Sequence[Metric], *, where: str | None = None, outcome: str = OUTCOMES[0]
) -> pl.DataFrame:
    """How many episodes `tail` would try without a baseline: where it is none, `tail` finds no change.

    One row a metric, in their order: `metric`, `episode_count` (0 for metrics of steps, whose change is not sought).
    `where`, `outcome`: as in `tail`. Raises `UsageError` and `QueryError` as `tail`.
    """
    counts = [_episode_count(database, TailQuestion(metric, where=where, outcome=outcome)) for metric in metrics]
    return pl.DataFrame({"metric": list(metrics), "episode_count": counts}, schema=CHANGED_METRICS_SCHEMA)


def _episode_count(database: Database, asked: TailQuestion) -> int:
    if METRICS[asked.metric].unit_kind != UnitKind.REQUEST:
        return 0
    with Selection(database, asked.metric, where=asked.where, outcome=asked.outcome) as selection:
        return len(found_changes(selection))
