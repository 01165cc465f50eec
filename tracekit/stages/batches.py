"""Reads the traces of a batch from the store: their spans, what they are, how they hang together."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit import queries
from tracekit.partition import NO_WAIT, Forest, Skew, estimate_skew
from tracekit.stages.attributes import make_batch_spans, reading
from tracekit.stages.clocks import CLIENT, SERVER, doubtful_hosts
from tracekit.stages.exporters import STEP_EXPORTERS, map_spans
from tracekit.stages.requests import TraceBatch
from tracekit.stages.spans import Spans
from tracekit.stages.startup import with_requests_of_their_own
from tracekit.stages.steps import StepBatch

_PRODUCER = 4
_CONSUMER = 5

_READ_BY_MAPPINGS = {"batch_calls": "units/batch_calls", "batch_outcomes": "units/span_outcomes"}


def select_batch(cursor: duckdb.DuckDBPyConnection, *, batch_no: int, first_ns: int, last_ns: int) -> None:
    """Select the spans of a batch of `request_batches`, which start in a range of time."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE batch_traces AS "
        "SELECT trace_id, trace_no FROM request_batches WHERE batch_no = $batch_no",
        {"batch_no": batch_no},
    )
    _set_range(cursor, first_ns, last_ns)


def select_shown_trace(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Select all spans of the one trace in `dirty_traces`; returns whether it has any."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_traces AS SELECT trace_id, 0 AS trace_no FROM dirty_traces")
    ranges = cursor.execute("SELECT first_ns, last_ns FROM dirty_traces").fetchall()
    for first_ns, last_ns in ranges:
        _set_range(cursor, first_ns, last_ns)
    return bool(ranges)


def read_batch(cursor: duckdb.DuckDBPyConnection, *, host_of: NDArray[np.int32], meanings: pl.DataFrame) -> TraceBatch:
    """The batch that `select_batch` selected; `host_of` is the number of the host of each resource id."""
    spans, keys = _spans(cursor, "batch_spans")
    for table, query in _READ_BY_MAPPINGS.items():
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS " + reading(query, keys=keys))
    operations = map_spans(cursor, spans, keys=keys)
    spans = with_requests_of_their_own(spans, operations)
    forest, skew = _forest(cursor, spans, keys, host_of)
    return TraceBatch(
        spans=spans,
        operations=operations,
        forest=forest,
        skew=skew,
        outcomes=_outcomes(cursor, spans),
        meanings=meanings,
    )


def select_step_batch(cursor: duckdb.DuckDBPyConnection, *, batch_no: int, first_ns: int, last_ns: int) -> None:
    """Select the spans of a batch of `dirty_steps`, which start in a range of time."""
    members = "CREATE OR REPLACE TEMP TABLE batch_members AS " + queries.text("units/batch_members")
    cursor.execute(members, {"batch_no": batch_no})
    _set_range(cursor, first_ns, last_ns)


def _set_range(cursor: duckdb.DuckDBPyConnection, first_ns: int, last_ns: int) -> None:
    cursor.execute(f"SET VARIABLE batch_first_ns = {first_ns}")
    cursor.execute(f"SET VARIABLE batch_last_ns = {last_ns}")


def read_step_batch(cursor: duckdb.DuckDBPyConnection) -> StepBatch:
    """The batch that `select_step_batch` selected."""
    spans, keys = _spans(cursor, "step_batch_spans")
    told = _rows(cursor, reading("units/step_spans", keys=keys))
    in_order = np.argsort(spans.rows_of(told["span_row"].to_numpy()))
    return StepBatch(
        spans=spans,
        operations=map_spans(cursor, spans, keys=keys, exporters=STEP_EXPORTERS),
        told=told[in_order],
    )


def _spans(cursor: duckdb.DuckDBPyConnection, query: str) -> tuple[Spans, frozenset[str]]:
    """The selected spans and the names of those of their attributes that mappings read."""
    keys = make_batch_spans(cursor, query)
    return Spans.from_table(cursor.sql(queries.text("units/batch_columns")).to_arrow_table()), keys


def _rows(cursor: duckdb.DuckDBPyConnection, statement: str) -> pl.DataFrame:
    return cursor.sql(statement).pl()


def _forest(
    cursor: duckdb.DuckDBPyConnection, spans: Spans, keys: frozenset[str], host_of: NDArray[np.int32]
) -> tuple[Forest, Skew | None]:
    host = doubtful_hosts(spans, host_of[spans.resource_id])
    forest = Forest.from_columns(
        key=spans.key,
        parent=spans.parent,
        missing_parent_id=spans.parent_span_id,
        start_ns=spans.start_ns,
        end_ns=spans.end_ns,
        tiebreak=spans.span_id,
        blocking=_blocking(cursor, spans, keys),
        waits_for=_waits(cursor, spans),
        host=host,
        is_client=spans.kind == CLIENT,
        is_server=spans.kind == SERVER,
    )
    return forest, estimate_skew(forest) if (host >= 0).any() else None


def _blocking(cursor: duckdb.DuckDBPyConnection, spans: Spans, keys: frozenset[str]) -> NDArray[np.bool_]:
    """Consumers do not hold up the producer above them, nor does what says that it is asynchronous."""
    from_producer = (spans.parent >= 0) & (spans.kind[np.maximum(spans.parent, 0)] == _PRODUCER)
    blocking = ~((spans.kind == _CONSUMER) & from_producer)
    declared = _rows(cursor, reading("units/batch_async", keys=keys))
    blocking[spans.rows_of(declared["span_row"].to_numpy())] = False
    return blocking


def _waits(cursor: duckdb.DuckDBPyConnection, spans: Spans) -> NDArray[np.int64]:
    waits_for = np.full(spans.count, NO_WAIT, dtype=np.int64)
    links = _rows(cursor, queries.text("units/batch_waits"))
    row, awaited = (spans.rows_of(links[name].to_numpy()) for name in ("span_row", "awaited_row"))
    is_inside = spans.key[row] == spans.key[awaited]
    waits_for[row[is_inside]] = awaited[is_inside]
    return waits_for


def _outcomes(cursor: duckdb.DuckDBPyConnection, spans: Spans) -> pl.DataFrame:
    """Outcomes that spans tell which may be the primary root of their trace."""
    is_top = spans.parent < 0
    has_top = np.bincount(spans.key, weights=is_top) > 0
    candidates = np.flatnonzero(is_top | ~has_top[spans.key])
    said = _rows(cursor, "SELECT span_row, outcome FROM batch_outcomes")
    is_candidate = np.zeros(spans.count, dtype=np.bool_)
    is_candidate[candidates] = True
    row = spans.rows_of(said["span_row"].to_numpy())
    return said.select(pl.Series("row", row), "outcome").filter(pl.Series(is_candidate[row]))
