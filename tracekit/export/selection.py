"""Which spans are exported: a trace, a training step, or all in a range of time; read by the store's own statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.errors import UsageError
from tracekit.export.perfetto import Records

Query = Callable[..., pl.DataFrame]
_TRACE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Selection:
    """One trace, or one step of a job on all its ranks, or neither; and a range of time `[first_ns, last_ns)`.

    Spans that overlap the range are exported as a whole. Nothing at all means everything.
    """

    trace_id: str | None = None
    job: str | None = None
    attempt: int | None = None
    step: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None

    def __post_init__(self) -> None:
        if self.trace_id is not None and not _TRACE_ID.fullmatch(self.trace_id):
            raise UsageError(
                f"{self.trace_id!r} is no trace id; give 32 lower-case hexadecimal digits",
                option="trace_id",
                value=self.trace_id,
            )
        if self.trace_id is not None and self.step is not None:
            raise UsageError("choose a trace or a step, not both", option="step", value=str(self.step))
        if self.step is None and (self.job is not None or self.attempt is not None):
            raise UsageError("a job and its attempt choose a step: name the step too", option="step")
        if self.first_ns is not None and self.last_ns is not None and self.first_ns >= self.last_ns:
            raise UsageError("the range ends before it begins")


def records(query: Query, selection: Selection) -> Records:
    """What the selection holds, read with `query` (as `tracekit.Store.query`).

    Counters are those of the time of the spans. Raises `UsageError` where the trace or the step is not there.
    """
    traces = _traces(query, selection)
    spans = query("export/spans", **traces)
    beside = _range_of(spans, selection)
    return Records(
        spans=spans,
        senders=query("export/senders"),
        moments=query("export/moments", **traces),
        links=query("export/links", **traces),
        counters=query("export/counters", **beside),
        other_points=query("export/other_points", **beside)["point_count"].item(),
    )


def span_rows(query: Query, selection: Selection) -> pl.DataFrame:
    """The spans of the selection as rows (`queries/export/span_rows.sql`), in order of time."""
    return query("export/span_rows", **_traces(query, selection))


def _traces(query: Query, selection: Selection) -> dict[str, Any]:
    """The parameters that choose spans: `trace_ids`, `first_ns`, `last_ns`."""
    limits = {"first_ns": selection.first_ns, "last_ns": selection.last_ns}
    if selection.trace_id is not None:
        return {"trace_ids": _known(query, selection.trace_id), **limits}
    if selection.step is None:
        return {"trace_ids": None, **limits}
    ranks = _ranks(query, selection)
    first_ns, last_ns = int(ranks["start_ns"].to_numpy().min()), int(ranks["end_ns"].to_numpy().max())
    return {
        "trace_ids": ranks["trace_id"].unique().sort().to_list(),
        "first_ns": max(first_ns, selection.first_ns or first_ns),
        "last_ns": min(last_ns, selection.last_ns or last_ns),
    }


def _known(query: Query, trace_id: str) -> list[str]:
    if query("export/extent", trace_ids=[trace_id])["first_ns"].item() is None:
        raise UsageError(f"there is no trace {trace_id} in this store", option="trace_id", value=trace_id)
    return [trace_id]


def _ranks(query: Query, selection: Selection) -> pl.DataFrame:
    """The ranks of the step; its job and attempt may go without saying where there is only one."""
    found = query("export/steps", job_id=selection.job, attempt=selection.attempt, step=selection.step)
    if found.is_empty():
        raise UsageError(
            f"there is no step {selection.step} of this job and attempt in this store",
            option="step",
            value=str(selection.step),
        )
    kinds = found.select("job_id", "attempt").unique().sort("job_id", "attempt")
    if kinds.height > 1:
        told = ", ".join(f"{job} attempt {attempt}" for job, attempt in kinds.iter_rows())
        raise UsageError(
            f"step {selection.step} is in several runs ({told}): choose one with --job and --attempt",
            option="step",
            value=str(selection.step),
        )
    return found


def _range_of(spans: pl.DataFrame, selection: Selection) -> dict[str, int | None]:
    """The time of the spans inside the range, for what belongs to no trace."""
    first_ns, last_ns = selection.first_ns, selection.last_ns
    if not spans.is_empty():
        first_ns = first_ns if first_ns is not None else int(spans["start_ns"].to_numpy().min())
        last_ns = last_ns if last_ns is not None else int(spans["end_ns"].to_numpy().max()) + 1
    return {"first_ns": first_ns, "last_ns": last_ns}
