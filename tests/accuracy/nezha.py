"""Nezha's labelled faults (Online Boutique, FSE'23), told by the product's own answer to `tail`.

Run `python -m tests.accuracy.nezha [FOLDER]` for the figures; FOLDER holds `spans.parquet` and `cases.csv`.

Every fault is asked as somebody would ask it: the requests of the fault against those of a time without one. A fault is
*named* where the first stage of the answer is one of the faulty service, or an edge at it; it is *ranked first* where
the first of `services` is that service. Latency faults are scored (network delay, CPU contention, CPU consumption);
return and exception faults leave no mark on latency. A fault is *observable* when its service has a span in at least
one of the fault's traces: without one no method can see it in these traces.

The form of the test and of the score was chosen on these data, so the figures flatter it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import tracekit as tk
from tracekit import Store

LATENCY_FAULTS = ["network_delay", "cpu_contention", "cpu_consumed"]
_CLIENT, _SERVER, _INTERNAL = 3, 2, 1


def latency_faults(folder: Path, *, every: int = 1) -> pl.DataFrame:
    """The faults that are scored, every n-th of them: rows of `cases.csv`."""
    cases = pl.read_csv(folder / "cases.csv").filter(pl.col("fault_type").is_in(LATENCY_FAULTS))
    return cases.gather_every(every)


def scored(folder: Path, *, every: int = 1) -> pl.DataFrame:
    """Each fault with what the answer names: case, service, fault_type, verdict, stage, named, first, is_observable."""
    faults = latency_faults(folder, every=every)
    spans = _spans(folder).filter(pl.col("case").is_in([*faults["case"], *faults["baseline_case"]]))
    seen = set(spans.select("case", "service").unique().iter_rows())
    with tempfile.TemporaryDirectory() as name, tk.open(None) as store:
        store.ingest(write_spans(spans, Path(name) / "spans.jsonl"))
        rows = [_asked(store, case) for case in faults.iter_rows(named=True)]
    return pl.DataFrame([row | {"is_observable": (row["case"], row["service"]) in seen} for row in rows])


def _asked(store: Store, case: dict[str, Any]) -> dict[str, Any]:
    sides = {
        side: f"attributes['case'] = '{case[name]}'"
        for side, name in (("where", "case"), ("baseline", "baseline_case"))
    }
    answer = store.tail("e2e", **sides)
    service, stage = case["root_cause_service"], answer.stages[0, "stage"]
    return {
        "case": case["case"],
        "service": service,
        "fault_type": case["fault_type"],
        "verdict": answer.verdict,
        "stage": stage,
        "named": service in stage.removeprefix("edge:").replace("->", ":").split(":"),
        "first": answer.services[0, "service"],
        "ranked_first": answer.services[0, "service"] == service,
    }


def write_spans(spans: pl.DataFrame, path: Path) -> Path:
    """The spans as OTLP JSON, a document a service; the case is an attribute."""
    with path.open("w", encoding="utf-8") as file:
        for (service,), part in spans.group_by("service", maintain_order=True):
            resource = {"attributes": [_text("service.name", str(service))]}
            scoped = [{"spans": list(_documents(part))}]
            file.write(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]}) + "\n")
    return path


def _documents(spans: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for row in spans.iter_rows(named=True):
        start_ns = row["trace_start_ns"] + row["start_ns"]
        span = {
            "traceId": f"{row['unit'] + 1:032x}",
            "spanId": f"{row['sid'] + 1:016x}",
            "name": row["op"],
            "kind": row["kind"],
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(start_ns + row["dur_ns"]),
            "attributes": [_text("case", row["case"])],
        }
        yield span if row["pid"] is None else span | {"parentSpanId": f"{row['pid'] + 1:016x}"}


def _text(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _spans(folder: Path) -> pl.DataFrame:
    """All spans, with kinds: a span whose single child belongs to another service called it."""
    spans = pl.read_parquet(folder / "spans.parquet").with_columns(
        service=pl.col("svc").cast(pl.String),
        op=pl.col("op").cast(pl.String),
        unit=pl.struct("case", "trace").rank("dense").cast(pl.Int64),
    )
    children = spans.group_by("unit", pl.col("pid").alias("sid")).agg(
        child_count=pl.len(), callee=pl.col("service").first()
    )
    spans = spans.join(children, on=["unit", "sid"], how="left").with_columns(
        is_client=((pl.col("child_count") == 1) & (pl.col("callee") != pl.col("service"))).fill_null(value=False)
    )
    callers = spans.select("unit", pl.col("sid").alias("pid"), is_called="is_client")
    return spans.join(callers, on=["unit", "pid"], how="left").with_columns(
        kind=pl.when("is_client").then(_CLIENT).when("is_called").then(_SERVER).otherwise(_INTERNAL)
    )


def report(faults: pl.DataFrame) -> pl.DataFrame:
    """Shares by selection: faults, named, ranked_first, told (a verdict that something is slower)."""
    selections = {
        "all": faults,
        "observable": faults.filter("is_observable"),
        **{kind: faults.filter(fault_type=kind) for kind in LATENCY_FAULTS},
    }
    quiet = ["no_excess", "improved", "too_few_blocks", "too_few_units"]
    rows = [
        {
            "selection": name,
            "faults": len(chosen),
            "named": chosen["named"].mean(),
            "ranked first": chosen["ranked_first"].mean(),
            "told": 1 - float(chosen["verdict"].is_in(quiet).sum()) / max(len(chosen), 1),
        }
        for name, chosen in selections.items()
    ]
    return pl.DataFrame(rows)


if __name__ == "__main__":
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[3] / "shared" / "data" / "nezha"
    found = scored(data)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, float_precision=3, fmt_str_lengths=70):
        print(report(found))
        print(found.filter(~pl.col("named")).drop("named"))
