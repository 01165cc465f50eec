"""Spans as the trace event format that Perfetto and chrome://tracing open. Pure: frames in, lines of JSON out.

A process is a service on a host (or a rank of a job there); its threads are lanes in which spans nest. Times are
microseconds from the first thing in the file, with the nanoseconds as decimals: exact, also for a reader that takes
them for doubles. Source: the Chrome project's document "Trace Event Format", on complete, instant, flow, counter and
metadata events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.export.lanes import lanes

_UNKNOWN = "unknown"
_SPAN = ("trace_id", "span_id")


@dataclass(frozen=True)
class Records:
    """What is exported: the frames of `queries/export`, `other_points` a number."""

    spans: pl.DataFrame
    senders: pl.DataFrame
    moments: pl.DataFrame
    links: pl.DataFrame
    counters: pl.DataFrame
    other_points: int


@dataclass(frozen=True)
class PerfettoTrace:
    """A trace in the trace event format.

    `events` are JSON objects, one a text; `counts` says how many spans, moments, links and counter readings they
    show, and what the format has no place for (`…_left_out`), each a number.
    """

    events: pl.Series
    counts: dict[str, int]
    origin_unix_ns: int

    def parts(self) -> Iterator[str]:
        """The file in pieces."""
        about = {"origin_unix_ns": str(self.origin_unix_ns), **self.counts}
        yield f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":[\n'
        for first in range(0, len(self.events), _PIECE_EVENTS):
            piece = ",\n".join(self.events[first : first + _PIECE_EVENTS].to_list())
            yield piece if first == 0 else ",\n" + piece
        yield "\n]}\n"

    def text(self) -> str:
        """The file as one text."""
        return "".join(self.parts())


_PIECE_EVENTS = 50_000


def perfetto(records: Records) -> PerfettoTrace:
    """The records in the trace event format."""
    origin_ns = _origin_ns(records)
    processes = _processes(records)
    spans = _placed(records.spans, processes)
    moments = _beside(records.moments, spans, _SPAN)
    counters = records.counters.drop_nulls("value_json")
    flows, elsewhere = _flows(records.links, spans)
    lines = [
        _process_names(processes),
        _lane_names(spans),
        _slices(spans, origin_ns),
        _instants(moments, origin_ns),
        _flow_lines(flows, origin_ns),
        _instants(elsewhere, origin_ns),
        _counter_lines(counters, processes, origin_ns),
    ]
    counts = {
        "spans": spans.height,
        "moments": moments.height,
        "links": flows.height + elsewhere.height,
        "counter_readings": counters.height,
        "spans_that_end_before_they_start": int((spans["end_ns"] < spans["start_ns"]).sum()),
        "counter_readings_left_out": records.counters.height - counters.height,
        "histograms_and_summaries_left_out": records.other_points,
    }
    return PerfettoTrace(events=pl.concat(lines), counts=counts, origin_unix_ns=origin_ns)


def _origin_ns(records: Records) -> int:
    firsts = (records.spans["start_ns"].min(), records.moments["time_ns"].min(), records.counters["time_ns"].min())
    return min((first for first in firsts if isinstance(first, int)), default=0)


def _processes(records: Records) -> pl.DataFrame:
    """The senders of what is exported, with the number of their process: `resource_id`, `pid`, `process`, `labels`."""
    used = pl.concat([records.spans["resource_id"], records.counters["resource_id"]]).unique()
    names = pl.concat_str(
        pl.col("service_name").fill_null(_UNKNOWN), "host_name", pl.format("rank {}", "rank"),
        separator=" · ", ignore_nulls=True,
    )  # fmt: skip
    known = records.senders.filter(pl.col("resource_id").is_in(used.implode())).with_columns(process=names)
    return known.select(
        "resource_id", "process", pl.col("process").rank("dense").cast(pl.Int64).alias("pid"),
        pl.col("attributes_json").alias("labels"),
    )  # fmt: skip


def _placed(spans: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """Spans with their process and lane, what holds others before them."""
    order = ("pid", "start_ns", "end_ns", *_SPAN)
    sorted_spans = spans.join(processes.select("resource_id", "pid"), on="resource_id", how="left").sort(
        order, descending=[name == "end_ns" for name in order]
    )
    ids = sorted_spans.select(*_SPAN, pl.int_range(pl.len()).alias("position")).unique(_SPAN, keep="first")
    parent = sorted_spans.join(
        ids, left_on=["trace_id", "parent_span_id"], right_on=_SPAN, how="left", maintain_order="left"
    )["position"].fill_null(-1)
    # A span that ends before it starts takes no time: the format has no negative durations.
    end_ns = np.maximum(sorted_spans["end_ns"].to_numpy(), sorted_spans["start_ns"].to_numpy())
    columns = (sorted_spans["pid"].to_numpy(), sorted_spans["start_ns"].to_numpy(), end_ns, parent.to_numpy())
    lane = lanes(*(column.astype(np.int64) for column in columns))
    return sorted_spans.with_columns(pl.Series("tid", lane + 1), pl.Series("shown_end_ns", end_ns))


def _beside(frame: pl.DataFrame, spans: pl.DataFrame, on: tuple[str, str]) -> pl.DataFrame:
    """Rows of spans that are exported, with the place of the span that `on` names."""
    places = spans.select(
        *(pl.col(name).alias(as_) for name, as_ in zip(_SPAN, on, strict=True)),
        "pid",
        "tid",
        "start_ns",
        "shown_end_ns",
    )
    return frame.join(places.unique(list(on), keep="first"), on=list(on), how="inner", maintain_order="left")


def _flows(links: pl.DataFrame, spans: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Links with both ends here as arrows; and those that lead elsewhere as moments at the start of their span.

    An arrow must not point back in time: it leaves the earlier span when that starts, and arrives in the other one
    when that starts.
    """
    here = _beside(links, spans, _SPAN)
    there = _beside(
        here.select("linked_trace_id", "linked_span_id").unique(), spans, ("linked_trace_id", "linked_span_id")
    )
    both = here.join(there, on=["linked_trace_id", "linked_span_id"], how="left", suffix="_linked")
    is_here = pl.col("pid_linked").is_not_null()
    elsewhere = both.filter(~is_here).with_columns(
        category=pl.lit("link"), name_json=pl.lit('"link to a span that is not here"'), time_ns="start_ns"
    )
    is_forward = pl.col("start_ns_linked") <= pl.col("start_ns")
    ends = {
        f"{end}_{column}": pl.when(is_forward if end == "from" else ~is_forward)
        .then(f"{column}_linked")
        .otherwise(column)
        for end in ("from", "to")
        for column in ("pid", "tid", "start_ns")
    }
    return both.filter(is_here).with_columns(**ends), elsewhere


def _slices(spans: pl.DataFrame, origin_ns: int) -> pl.Series:
    return _lines(
        spans,
        '{"ph":"X","cat":"span","name":', "name_json", _place(),
        ',"ts":', _microseconds(pl.col("start_ns") - origin_ns),
        ',"dur":', _microseconds(pl.col("shown_end_ns") - pl.col("start_ns")), ',"args":', "args_json", "}",
    )  # fmt: skip


def _instants(moments: pl.DataFrame, origin_ns: int) -> pl.Series:
    return _lines(
        moments,
        '{"ph":"i","s":"t","cat":"', "category", '","name":', "name_json", _place(),
        ',"ts":', _microseconds(pl.col("time_ns") - origin_ns), ',"args":', "args_json", "}",
    )  # fmt: skip


def _flow_lines(flows: pl.DataFrame, origin_ns: int) -> pl.Series:
    numbered = flows.with_row_index("id", offset=1)
    ends = [
        _lines(
            numbered,
            f'{{"ph":"{phase}","cat":"link","name":"link"{binding},"id":', "id", _place(f"{end}_"),
            ',"ts":', _microseconds(pl.col(f"{end}_start_ns") - origin_ns), ',"args":', "args_json", "}",
        )
        for phase, end, binding in (("s", "from", ""), ("f", "to", ',"bp":"e"'))
    ]  # fmt: skip
    return pl.concat(ends)


def _counter_lines(counters: pl.DataFrame, processes: pl.DataFrame, origin_ns: int) -> pl.Series:
    placed = counters.join(processes.select("resource_id", "pid"), on="resource_id", how="left")
    return _lines(
        placed,
        '{"ph":"C","name":', "name_json", ',"pid":', "pid", ',"ts":', _microseconds(pl.col("time_ns") - origin_ns),
        ',"args":{"value":', "value_json", "}}",
    )  # fmt: skip


def _process_names(processes: pl.DataFrame) -> pl.Series:
    each = processes.group_by("pid", "process").agg(pl.col("labels").unique().sort()).sort("pid")
    lines = [
        json.dumps({"ph": "M", "name": name, "pid": pid, "args": {key: value}})
        for pid, process, labels in each.iter_rows()
        for name, key, value in (("process_name", "name", process), ("process_labels", "labels", " ".join(labels)))
    ]
    return pl.Series(lines, dtype=pl.String)


def _lane_names(spans: pl.DataFrame) -> pl.Series:
    used = spans.select("pid", "tid").unique().sort("pid", "tid")
    return _lines(
        used, '{"ph":"M","name":"thread_name"', _place(), ',"args":{"name":"lane ', "tid", '"}}',
    )  # fmt: skip


def _place(prefix: str = "") -> pl.Expr:
    return pl.format(',"pid":{},"tid":{}', f"{prefix}pid", f"{prefix}tid")


def _microseconds(ns: pl.Expr) -> pl.Expr:
    """Nanoseconds as microseconds with three decimals: no digit is lost, none is made up."""
    return pl.concat_str((ns // 1000).cast(pl.String), pl.lit("."), (ns % 1000).cast(pl.String).str.zfill(3))


def _lines(frame: pl.DataFrame, *parts: str | pl.Expr) -> pl.Series:
    """A text a row, put together from columns (by name), expressions, and anything else as it is."""
    pieces = [_piece(frame, part) if isinstance(part, str) else part for part in parts]
    return frame.select(pl.concat_str(pieces).alias("line"))["line"]


def _piece(frame: pl.DataFrame, part: str) -> pl.Expr:
    return pl.col(part) if part in frame.columns else pl.lit(part)
