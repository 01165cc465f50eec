"""Accuracy of the ranking of services on Nezha's labelled faults (Online Boutique, FSE'23).

Run `python -m tests.accuracy.nezha [FOLDER]` for the figures; FOLDER holds `spans.parquet` and `cases.csv`.

Latency faults are scored (network delay, CPU contention, CPU consumption); return and exception faults
leave no mark on latency. The two thresholds of the score were fixed on every second latency fault in the
order of `cases.csv`, starting with the first; the other half, held out, is reported beside it. A fault is
*observable* when its service has a span in at least one of the fault's traces: without one no method can
see it in these traces.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tests.accuracy.root_cause import rank_services
from tests.unit.partition.exclusive_time import self_ns
from tracekit.partition import PARENT_MISSING, PARENTLESS, Forest, partition

LATENCY_FAULTS = ["network_delay", "cpu_contention", "cpu_consumed"]
DEEPEST_RANK = 5
_CASE = ["case", "baseline_case", "root_cause_service", "fault_type"]


@dataclass(frozen=True)
class Accuracy:
    """Share of faults whose service is ranked first, in the first three; mean over the first 1 to 5."""

    fault_count: int
    ac1: float
    ac3: float
    avg5: float


def accuracy(ranks: Sequence[int]) -> Accuracy:
    """Accuracy of the ranks (from 1) that the true services got."""
    within = [np.mean(np.asarray(ranks) <= k) for k in range(1, DEEPEST_RANK + 1)]
    return Accuracy(len(ranks), ac1=float(within[0]), ac3=float(within[2]), avg5=float(np.mean(within)))


def chance(service_count: int) -> Accuracy:
    """Expected accuracy of a random order of the services."""
    within = [min(k / service_count, 1.0) for k in range(1, DEEPEST_RANK + 1)]
    return Accuracy(0, ac1=within[0], ac3=within[2], avg5=float(np.mean(within)))


def forest_of(spans: pl.DataFrame) -> Forest:
    """The traces of `spans` (columns `unit`, `sid`, `pid`, times) as a forest.

    Kinds were not recorded: a span with a single child counts as a client, and is an edge where that child
    belongs to another service.
    """
    rows = spans.with_row_index("row").select("unit", "sid", pl.col("row").cast(pl.Int64).alias("parent_row"))
    linked = spans.join(rows, left_on=["unit", "pid"], right_on=["unit", "sid"], how="left", maintain_order="left")
    absent = pl.when(pl.col("pid").is_null()).then(PARENTLESS).otherwise(PARENT_MISSING)
    parent = linked.select(pl.coalesce("parent_row", absent)).to_series().to_numpy()
    start_ns = (spans["trace_start_ns"] + spans["start_ns"]).to_numpy()
    return Forest.from_columns(
        key=spans["unit"].to_numpy(),
        parent=parent,
        missing_parent_id=spans["pid"].fill_null(0).to_numpy(),
        start_ns=start_ns,
        end_ns=start_ns + spans["dur_ns"].to_numpy(),
        tiebreak=spans["sid"].to_numpy(),
        is_client=np.bincount(parent[parent >= 0], minlength=len(parent)) == 1,
    )


def operations_of(spans: pl.DataFrame) -> pl.DataFrame:
    """Exclusive time of every span, edges named: case, unit, service, callee, operation, self_ns."""
    spans = spans.with_columns(
        unit=(pl.struct("case", "trace").rank("dense") - 1).cast(pl.Int64),
        service=pl.col("svc").cast(pl.String),
        service_number=(pl.col("svc").cast(pl.String).rank("dense") - 1).cast(pl.Int32),
    )
    forest = forest_of(spans)
    result = partition(forest)
    own_ns = self_ns(result)
    assert own_ns.sum() == (result.root_end_ns - result.root_start_ns).sum(), "parts do not sum to the whole"
    called = pl.Series(_called_rows(forest, spans["service_number"].to_numpy()))
    return spans.select(
        "case",
        "unit",
        "service",
        callee=spans["service"].gather(called.clip(0)).zip_with(called >= 0, pl.Series([None], dtype=pl.String)),
        operation=pl.col("op").cast(pl.String),
        self_ns=pl.Series(own_ns[: len(spans)]),
    )


def _called_rows(forest: Forest, service: np.ndarray) -> np.ndarray:
    """For each client row the one blocking child in another service, -1 where there is none or are several."""
    child = np.flatnonzero((forest.parent >= 0) & forest.blocking)
    caller = forest.parent[child]
    is_remote = forest.is_client[caller] & (service[caller] != service[child])
    child, caller = child[is_remote], caller[is_remote]
    called = np.full(forest.row_count, -1)
    called[caller] = child
    return np.where(np.bincount(caller, minlength=forest.row_count) == 1, called, -1)


def ranked_faults(folder: Path) -> pl.DataFrame:
    """Each latency fault with the rank of its service, by the score and by own time alone.

    Columns: case, root_cause_service, fault_type, rank, rank_by_self_time, is_observable, is_held_out.
    """
    operations = operations_of(pl.read_parquet(folder / "spans.parquet"))
    cases = pl.read_csv(folder / "cases.csv").filter(pl.col("fault_type").is_in(LATENCY_FAULTS))
    ranked = [_rank(operations, **case) for case in cases.select(_CASE).iter_rows(named=True)]
    return pl.concat([cases.select(_CASE), pl.DataFrame(ranked)], how="horizontal").with_columns(
        is_held_out=pl.int_range(pl.len()) % 2 == 1
    )


def _rank(
    operations: pl.DataFrame, *, case: str, baseline_case: str, root_cause_service: str, fault_type: str
) -> dict[str, object]:
    baseline = operations.filter(pl.col("case") == baseline_case)
    services = rank_services(baseline, operations.filter(pl.col("case") == case)).services
    by_own_time = services.sort("node_excess_ns", "service", descending=[True, False])["service"].to_list()
    cause = services.row(by_predicate=pl.col("service") == root_cause_service, named=True)
    return {
        "rank": cause["rank"],
        "rank_by_self_time": by_own_time.index(root_cause_service) + 1,
        "is_observable": cause["unit_count"] > 0,
        "service_count": len(services),
    }


def report(faults: pl.DataFrame) -> pl.DataFrame:
    """Accuracy by selection and method, chance last: selection, method, faults, ac1, ac3, avg5."""
    selections = {
        "all": faults,
        "held out": faults.filter("is_held_out"),
        "all, observable": faults.filter("is_observable"),
        "held out, observable": faults.filter(pl.col("is_held_out") & pl.col("is_observable")),
        **{kind: faults.filter(fault_type=kind) for kind in LATENCY_FAULTS},
    }
    methods = {"node and edges": "rank", "self time": "rank_by_self_time"}
    rows = [
        {"selection": selection, "method": method, **vars(accuracy(chosen[column].to_list()))}
        for selection, chosen in selections.items()
        for method, column in methods.items()
    ]
    by_chance = vars(chance(int(faults["service_count"][0])))
    return pl.DataFrame([*rows, {"selection": "any", "method": "chance", **by_chance}])


if __name__ == "__main__":
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3] / "shared" / "data" / "nezha"
    ranked = ranked_faults(data)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, float_precision=3):
        print(report(ranked))
        print(ranked.filter(pl.col("rank") > 1))
