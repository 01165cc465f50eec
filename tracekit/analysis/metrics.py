"""Counters, gauges and histograms over time, under one set of names whoever sent them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import duckdb
import numpy as np
import polars as pl

from tracekit.analysis.answer import BaseAnswer, question, registered
from tracekit.analysis.checks import found
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.statistics.bucket_quantiles import bucket_quantiles
from tracekit.analysis.temporary import create_table, rows
from tracekit.errors import UsageError
from tracekit.schema import METRIC_GROUPS, MetricsVerdict
from tracekit.store import Database

QUANTILES = (0.5, 0.9, 0.99)
"""Quantiles that are estimated from histograms."""

MAXIMUM_WINDOWS = 10_000
"""More windows than this are taken for a mistake in `every_s`."""

CATALOGUE_SCHEMA = {
    "metric": pl.String, "sender_name": pl.String, "unit": pl.String, "kind": pl.String, "stage": pl.String,
    "service_name": pl.String, "host_count": pl.Int64, "series_count": pl.Int64, "point_count": pl.Int64,
    "first_ns": pl.Int64, "last_ns": pl.Int64,
}  # fmt: skip
_QUANTILE_COLUMNS = [f"p{quantile * 100:g}{end}" for quantile in QUANTILES for end in ("", "_low", "_high")]
VALUE_SCHEMA = (
    {"start_ns": pl.Int64, "end_ns": pl.Int64, "sender_name": pl.String}
    | dict.fromkeys(METRIC_GROUPS, pl.String)
    | {"kind": pl.String, "series_count": pl.Int64, "point_count": pl.Int64}
    | dict.fromkeys(("mean", "total", "least", "largest", "increase", "rate_per_s"), pl.Float64)
    | {"restart_count": pl.Int64, "unsplit_count": pl.Float64}
    | dict.fromkeys(_QUANTILE_COLUMNS, pl.Float64)
)
_SHAPES = {"gauge": "gauge", "sum": "sum", "histogram": "histogram", "exponential_histogram": "histogram"}
_STATEMENTS = {"gauge": "metrics/gauges", "sum": "metrics/counts", "histogram": "metrics/histograms"}
_KEY = ["sender_name", *METRIC_GROUPS, "window_number"]


@registered("metrics", rows="shown", title="What do the counters say?")
@dataclass(frozen=True)
class MetricsAnswer(BaseAnswer):
    """Which metrics a store has, or one of them over time.

    metric: canonical name of what was asked for, None where all are listed; `unit`: of its values.
    catalogue: one row a metric of a service: `metric`, `sender_name`, `unit`, `kind`, `stage` (what it explains),
        `service_name`, `host_count`, `series_count`, `point_count`, `first_ns`, `last_ns`.
    values: one row a window of the clock and group. Gauges: `mean` (of the series), `total` (sum of their means),
        `least`, `largest`. Counters: `increase`, `rate_per_s`, `restart_count`. Histograms: `increase` (how many
        values), `mean`, and of each quantile an estimate `p99`; the true one lies within `p99_low` and `p99_high`
        (NULL: open). `unsplit_count` values have no known buckets.
    evidence: series that do not say how they count are in no value.
    """

    schema: ClassVar = {"catalogue": CATALOGUE_SCHEMA, "values": VALUE_SCHEMA}

    metric: str | None
    unit: str | None
    catalogue: pl.DataFrame
    values: pl.DataFrame
    verdict: MetricsVerdict
    evidence: Evidence
    units: None = None

    @property
    def shown(self) -> pl.DataFrame:
        """The frame that was asked for, without columns that say nothing."""
        if self.metric is None:
            return self.catalogue
        return self.values.select(
            column for column in self.values if column.null_count() < len(column) or column.name == "start_ns"
        )


@question("metrics")
def metrics(
    database: Database, metric: str | None = None, *, by: Sequence[str] = ("host_name",), every_s: float | None = None
) -> MetricsAnswer:
    """One metric over time by its canonical name or its sender's, in windows of `every_s` seconds; or a list of all.

    `by` tells groups apart: any of `METRIC_GROUPS`. Without `every_s` there is one window. Raises `UsageError` for a
    metric that is not there, for unknown groups, and for windows without length or by far too many.
    """
    _check(by, every_s)
    with database.cursor() as cursor:
        if metric is None:
            return _listed(cursor)
        create_table(cursor, "asked_series", "metrics/asked_series", {"metric": metric, "by": list(by)})
        series = cursor.sql("FROM asked_series").pl()
        if series.is_empty():
            raise UsageError(
                f"there is no metric {metric!r} in this store; `tracekit metrics` lists what there is",
                option="metric",
                value=metric,
            )
        return _over_time(cursor, series, every_s)


def _check(by: Sequence[str], every_s: float | None) -> None:
    unknown = sorted(set(by) - set(METRIC_GROUPS))
    if unknown:
        raise UsageError(
            f"metrics cannot be grouped by {', '.join(unknown)}; use {', '.join(METRIC_GROUPS)}", option="by"
        )
    if every_s is not None and not every_s * 1e9 >= 1:
        raise UsageError(f"a window of {every_s} s has no length", option="every_s", value=str(every_s))


def _listed(cursor: duckdb.DuckDBPyConnection) -> MetricsAnswer:
    catalogue = rows(cursor, "metrics/catalogue").cast(CATALOGUE_SCHEMA)  # type: ignore[arg-type]
    return MetricsAnswer(
        metric=None, unit=None, catalogue=catalogue, values=pl.DataFrame(schema=VALUE_SCHEMA),
        verdict="no_metrics" if catalogue.is_empty() else "listed", evidence=_evidence(cursor),
    )  # fmt: skip


def _over_time(cursor: duckdb.DuckDBPyConnection, series: pl.DataFrame, every_s: float | None) -> MetricsAnswer:
    windows = _windows(cursor, every_s)
    kinds = sorted({_SHAPES[kind] for kind in series["kind"] if kind in _SHAPES})
    values = pl.concat([pl.DataFrame(schema=VALUE_SCHEMA), *(_values(cursor, kind, windows) for kind in kinds)])
    return MetricsAnswer(
        metric=series["metric"][0], unit=series["unit"][0], catalogue=pl.DataFrame(schema=CATALOGUE_SCHEMA),
        values=values, verdict="values" if len(values) else "no_values", evidence=_evidence(cursor),
    )  # fmt: skip


def _windows(cursor: duckdb.DuckDBPyConnection, every_s: float | None) -> dict[str, int]:
    first_ns, last_ns = (value or 0 for value in rows(cursor, "metrics/times").row(0))
    every_ns = last_ns - first_ns + 1 if every_s is None else round(every_s * 1e9)
    if (last_ns - first_ns) // every_ns > MAXIMUM_WINDOWS:
        raise UsageError(
            f"windows of {every_s} s are more than {MAXIMUM_WINDOWS:,} here; take longer ones",
            option="every_s",
            value=str(every_s),
        )
    return {"first_ns": first_ns, "every_ns": every_ns}


def _values(cursor: duckdb.DuckDBPyConnection, kind: str, windows: dict[str, int]) -> pl.DataFrame:
    frame = rows(cursor, _STATEMENTS[kind], windows)
    if kind == "histogram":
        frame = frame.join(_quantiles(rows(cursor, "metrics/buckets", windows)), on=_KEY, how="left", nulls_equal=True)
    start = windows["first_ns"] + pl.col("window_number") * windows["every_ns"]
    known = frame.with_columns(start_ns=start, end_ns=start + windows["every_ns"], kind=pl.lit(kind))
    missing = [pl.lit(None).alias(name) for name in VALUE_SCHEMA if name not in known.columns]
    return known.with_columns(missing).select(list(VALUE_SCHEMA)).cast(VALUE_SCHEMA)  # type: ignore[arg-type]


def _quantiles(buckets: pl.DataFrame) -> pl.DataFrame:
    found: list[dict[str, Any]] = []
    for key, group in buckets.group_by(_KEY, maintain_order=True):
        low = group["low"].fill_null(-np.inf).to_numpy()
        high = group["high"].fill_null(np.inf).to_numpy()
        quantiles = bucket_quantiles(low, high, group["count"].to_numpy(), QUANTILES)
        values = [end for one in quantiles for end in (one.estimate, one.low, one.high)]
        found.append(dict(zip([*_KEY, *_QUANTILE_COLUMNS], [*key, *values], strict=True)))
    schema = {name: buckets.schema[name] for name in _KEY} | dict.fromkeys(_QUANTILE_COLUMNS, pl.Float64())
    return pl.DataFrame(found, schema=schema)


def _evidence(cursor: duckdb.DuckDBPyConnection) -> Evidence:
    checks = rows(cursor, "quality/signal_checks").filter(check_name="unspecified_temporality")
    findings = tuple(found(*row) for row in checks.iter_rows())
    bad = tuple(finding for finding in findings if finding.severity != "ok")
    return Evidence("usable" if bad else "good", bad, {})
