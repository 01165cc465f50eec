"""Root cause above stages: which service made the faulty units slow, from node and edge time.

A slow network at a service, or a service that accepts calls late, leaves its own time unchanged: the time
appears in the self time of its callers' client spans, the edges. A service is therefore scored by

    node excess + (sum of positive excess of its incident edges) x (share of its incident edges that grew)

where the share (coverage) tells the service at the centre, all of whose edges grew, from its neighbours,
one of whose edges did.

`tests/accuracy/nezha.py` scores this ranking against injected faults; it is not yet part of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.errors import InsufficientDataError, UsageError

_STAGE = ["service", "callee", "operation"]
_COLUMNS = ["unit", *_STAGE, "self_ns"]


@dataclass(frozen=True)
class RootCause:
    """A ranking of services and the edges that it rests on.

    `services`, one row a service, by `rank` (1 the likeliest cause; equal scores by name): `service`,
    `score_ns`, `node_excess_ns` (excess of its own time), `edge_excess_ns` (sum of positive excess of
    incident edges), `edge_count`, `grown_edge_count`, `unit_count` (faulty units it has time in; 0: the
    faulty units cannot show it).

    `edges`, one row a caller and callee: `service`, `callee`, `excess_ns`, `standard_error_ns` (null where
    the baseline has too few units), `has_grown`.

    All `_ns` are mean nanoseconds per faulty unit. `excess_ns` is the sum over all nodes and edges.
    `unseen_ns` is time of stages that the baseline never saw; it has nothing to be compared with and is in
    no score.
    """

    services: pl.DataFrame
    edges: pl.DataFrame
    excess_ns: float
    unseen_ns: float


def rank_services(
    baseline: pl.DataFrame, faulty: pl.DataFrame, *, standard_errors: float = 3.0, floor_share: float = 0.05
) -> RootCause:
    """Rank services by how much of the slowness of the faulty units lies at and around them.

    Both frames have one row an operation: `unit` (the request it belongs to), `service`, `callee` (the
    called service where the operation is an edge, else null), `operation` (its name), `self_ns` (int64,
    exclusive time).

    The excess of a stage (service, callee, operation) is its time per call in the faulty units less that in
    the baseline, times its calls per faulty unit, so that another mix of requests is no excess. An edge has
    grown when its excess is more than `standard_errors` standard errors and more than `floor_share` of the
    total excess. The standard error is that of the ratio of time to calls over baseline units, since a
    fault need not leave many faulty ones.

    Raises `UsageError` where a column is missing or an option is negative, `InsufficientDataError` where
    there is no faulty unit or fewer than two baseline units.
    """
    _check(baseline, faulty, standard_errors, floor_share)
    stages = _stage_excess(baseline, faulty)
    excess_ns = float(stages["excess_ns"].sum())
    edges = _edges(stages, standard_errors=standard_errors, floor_ns=max(floor_share * excess_ns, 0.0))
    return RootCause(
        services=_ranking(_services(baseline, faulty), _nodes(stages), _incidence(edges)),
        edges=edges,
        excess_ns=excess_ns,
        unseen_ns=float(stages["unseen_ns"].sum()),
    )


def _check(baseline: pl.DataFrame, faulty: pl.DataFrame, standard_errors: float, floor_share: float) -> None:
    for label, frame in (("baseline", baseline), ("faulty", faulty)):
        absent = [column for column in _COLUMNS if column not in frame.columns]
        if absent:
            raise UsageError(f"the {label} frame lacks {', '.join(absent)}; it needs {', '.join(_COLUMNS)}")
    if standard_errors < 0 or floor_share < 0:
        raise UsageError("standard_errors and floor_share must not be negative")
    units = baseline["unit"].n_unique(), faulty["unit"].n_unique()
    if units[0] < 2 or units[1] < 1:
        raise InsufficientDataError(
            f"{units[0]} baseline and {units[1]} faulty units cannot be compared; "
            "select at least two and one, for example by a longer baseline"
        )


def _stage_totals(operations: pl.DataFrame) -> pl.DataFrame:
    """Time and calls of each stage in each unit that calls it."""
    return operations.group_by("unit", *_STAGE).agg(time_ns=pl.col("self_ns").sum(), calls=pl.len().cast(pl.Int64))


def _baseline_stages(baseline: pl.DataFrame) -> pl.DataFrame:
    """Time per call of each stage, and the spread over units of what that rate does not explain."""
    totals = _stage_totals(baseline)
    rates = totals.group_by(_STAGE).agg(
        baseline_rate_ns=pl.col("time_ns").sum() / pl.col("calls").sum(), baseline_calls=pl.col("calls").sum()
    )
    residual = pl.col("time_ns") - pl.col("baseline_rate_ns") * pl.col("calls")
    spread = (
        totals.join(rates, on=_STAGE, nulls_equal=True)
        .group_by(_STAGE)
        .agg(unit_variance=residual.var(), baseline_units=pl.len())
    )
    return rates.join(spread, on=_STAGE, nulls_equal=True)


def _stage_excess(baseline: pl.DataFrame, faulty: pl.DataFrame) -> pl.DataFrame:
    """Excess of each stage of the faulty units and its variance, per faulty unit."""
    faulty_units = faulty["unit"].n_unique()
    stages = (
        _stage_totals(faulty)
        .group_by(_STAGE)
        .agg(faulty_ns=pl.col("time_ns").sum(), faulty_calls=pl.col("calls").sum(), units=pl.len())
    )
    expected_ns = pl.col("baseline_rate_ns") * pl.col("faulty_calls")
    # Variance of the faulty units' residual sum, plus that of the baseline's rate times the faulty calls.
    variance = pl.col("unit_variance") * (
        pl.col("units") + pl.col("baseline_units") * (pl.col("faulty_calls") / pl.col("baseline_calls")) ** 2
    )
    compared = stages.join(_baseline_stages(baseline), on=_STAGE, how="left", nulls_equal=True)
    # Sorted, so that sums of fractions do not depend on the order of the rows.
    return compared.sort(_STAGE).with_columns(
        excess_ns=((pl.col("faulty_ns") - expected_ns) / faulty_units).fill_null(0.0),
        unseen_ns=pl.when(pl.col("baseline_rate_ns").is_null()).then(pl.col("faulty_ns")).otherwise(0) / faulty_units,
        variance=variance / faulty_units**2,
    )


def _nodes(stages: pl.DataFrame) -> pl.DataFrame:
    """Excess of each service's own time."""
    own = stages.filter(pl.col("callee").is_null())
    return own.group_by("service", maintain_order=True).agg(node_excess_ns=pl.col("excess_ns").sum())


def _edges(stages: pl.DataFrame, *, standard_errors: float, floor_ns: float) -> pl.DataFrame:
    """Excess of each edge, and whether it grew; only operations with a known spread are tested."""
    is_testable = pl.col("variance").is_not_null()
    edges = (
        stages.filter(pl.col("callee").is_not_null())
        .group_by("service", "callee", maintain_order=True)
        .agg(
            pl.col("excess_ns").sum(),
            tested_ns=pl.col("excess_ns").filter(is_testable).sum(),
            standard_error_ns=pl.when(is_testable.any()).then(pl.col("variance").sum().sqrt()),
        )
    )
    beyond_chance = pl.col("tested_ns") > standard_errors * pl.col("standard_error_ns")
    return (
        edges.with_columns(has_grown=(beyond_chance & (pl.col("excess_ns") > floor_ns)).fill_null(value=False))
        .drop("tested_ns")
        .sort("service", "callee")
    )


def _incidence(edges: pl.DataFrame) -> pl.DataFrame:
    """Positive excess of the edges at each service, how many there are and how many grew."""
    ends = pl.concat([edges, edges.with_columns(service="callee")])
    return ends.group_by("service", maintain_order=True).agg(
        edge_excess_ns=pl.col("excess_ns").clip(lower_bound=0.0).sum(),
        edge_count=pl.len().cast(pl.Int64),
        grown_edge_count=pl.col("has_grown").sum().cast(pl.Int64),
    )


def _services(baseline: pl.DataFrame, faulty: pl.DataFrame) -> pl.DataFrame:
    """Every service that either frame names, and the faulty units that it has time in."""
    named = pl.concat([frame[column] for frame in (baseline, faulty) for column in ("service", "callee")])
    seen = faulty.group_by("service").agg(unit_count=pl.col("unit").n_unique().cast(pl.Int64))
    return pl.DataFrame({"service": named.drop_nulls().unique()}).join(seen, on="service", how="left")


def _ranking(services: pl.DataFrame, nodes: pl.DataFrame, incidence: pl.DataFrame) -> pl.DataFrame:
    coverage = pl.col("grown_edge_count") / pl.max_horizontal("edge_count", 1)
    return (
        services.join(nodes, on="service", how="left")
        .join(incidence, on="service", how="left")
        .with_columns(pl.exclude("service").fill_null(0))
        .with_columns(score_ns=pl.col("node_excess_ns") + pl.col("edge_excess_ns") * coverage)
        .sort("score_ns", "service", descending=[True, False])
        .with_row_index("rank", offset=1)
        .select(
            pl.col("rank").cast(pl.Int64),
            "service",
            "score_ns",
            "node_excess_ns",
            "edge_excess_ns",
            "edge_count",
            "grown_edge_count",
            "unit_count",
        )
    )
