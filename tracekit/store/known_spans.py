"""Which incoming spans the store holds already, found without reading all of it where that is possible."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit import queries
from tracekit.store.columns import as_words, numbers, one_array
from tracekit.store.recent_spans import RecentSpans
from tracekit.store.statements import registered

_COMPARED = ["row", "trace_id", "span_id", "name", "start_ns", "end_ns", "kind", "status_code"]
_EVER = (-(2**63), 2**63 - 1)
_ALL_INGESTS = (0, 2**32 - 1)
# Starts further apart than this are looked up apart, so that one wrong clock does not cost a scan of the store.
_APART_NS = 600 * 10**9
_LOOKUP_LIMIT = 8
_LOADED_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Stored:
    """Positions of incoming spans that the store holds, ascending, and whether each is the same span."""

    rows: NDArray[np.int64]
    same: NDArray[np.bool_]


SIDE = np.uint64(11400714819323198485)
"""What sets the id of a server or consumer apart from that of its caller, where both have one id as in Zipkin."""

_SERVING_KINDS = (2, 5)


def sided_ids(spans: pa.Table) -> NDArray[np.uint64]:
    """Span ids, those of servers and consumers with another number than those of the spans that call them."""
    is_serving = np.isin(numbers(spans["kind"]), _SERVING_KINDS)
    # One without an id is refused where it is written; here it only has to be a number.
    ids = one_array(spans["span_id"]).fill_null(0)
    return numbers(ids).astype(np.uint64) ^ np.where(is_serving, SIDE, np.uint64(0))


def span_keys(spans: pa.Table) -> NDArray[np.uint64]:
    """Trace id and span id of each span, as `sided_ids` has it, as three words."""
    return np.column_stack([as_words(one_array(spans["trace_id"]).storage), sided_ids(spans)])


def stored(
    cursor: duckdb.DuckDBPyConnection,
    spans: pa.Table,
    keys: NDArray[np.uint64],
    recent: RecentSpans | None,
) -> Stored:
    """The incoming spans whose ids the store has.

    `spans` has the columns of base.spans and `row`, the position of each, `keys` their `span_keys`. Without
    `recent` the whole store is read. With it only the ingests are that may have brought one of the spans,
    and, where spans that are not remembered start in the same minutes, what starts about when the spans do: a span
    with the id of one that is not remembered and starts at another time is taken for a new one. So what arrives as
    it happens costs the same however much the store holds.
    """
    if recent is None:
        return _found(cursor, spans)
    remembered = _remembered(cursor, spans, recent.ingests(keys))
    if recent.covered_from == 0:
        return remembered
    may_be_old = np.flatnonzero(recent.older_minutes.has(_starts(spans)))
    rest = np.setdiff1d(may_be_old, remembered.rows)
    older = _at_their_times(cursor, _at(spans, rest), last_ingest_id=recent.covered_from - 1)
    return _together([remembered, older])


def _remembered(cursor: duckdb.DuckDBPyConnection, spans: pa.Table, ingests: NDArray[np.int64]) -> Stored:
    """Of the spans that may be there, those that are."""
    maybe = np.flatnonzero(ingests)
    if maybe.size == 0:
        return _together([])
    bounds = (int(ingests[maybe].min()), int(ingests[maybe].max()))
    found = _found(cursor, _at(spans, maybe), ingests=bounds)
    missed = np.setdiff1d(maybe, found.rows)
    # Two spans that look alike in memory, or one that was pruned or never committed.
    return _together([found, _found(cursor, _at(spans, missed))]) if missed.size else found


def _at_their_times(cursor: duckdb.DuckDBPyConnection, spans: pa.Table, *, last_ingest_id: int) -> Stored:
    starts = np.sort(_starts(spans))
    ingests = (0, last_ingest_id)
    return _together([_found(cursor, spans, ingests=ingests, starts=starts) for starts in _time_ranges(starts)])


def _starts(spans: pa.Table) -> NDArray[np.int64]:
    return numbers(spans["start_ns"]).astype(np.int64)


def _time_ranges(starts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges that hold all the ascending times: cut at wide gaps, at the widest where there are many."""
    if starts.size == 0:
        return []
    gaps = np.diff(starts)
    cuts = np.flatnonzero(gaps > _APART_NS)
    cuts = np.sort(cuts[np.argsort(-gaps[cuts], kind="stable")][: _LOOKUP_LIMIT - 1])
    firsts, lasts = np.append(0, cuts + 1), np.append(cuts, starts.size - 1)
    return [(int(starts[first]), int(starts[last])) for first, last in zip(firsts, lasts, strict=True)]


def _found(
    cursor: duckdb.DuckDBPyConnection,
    spans: pa.Table,
    *,
    ingests: tuple[int, int] = _ALL_INGESTS,
    starts: tuple[int, int] = _EVER,
) -> Stored:
    bounds = dict(zip(("first_ingest_id", "last_ingest_id"), ingests, strict=True))
    bounds |= dict(zip(("first_ns", "last_ns"), starts, strict=True))
    with registered(cursor, {"incoming_spans": spans.select(_COMPARED)}):
        found = cursor.execute(queries.text("store/stored_spans"), bounds).fetchnumpy()
    return Stored(np.asarray(found["row"], np.int64), np.asarray(found["same"], np.bool_))


def _together(parts: list[Stored]) -> Stored:
    rows = np.concatenate([np.empty(0, np.int64), *(part.rows for part in parts)])
    same = np.concatenate([np.empty(0, np.bool_), *(part.same for part in parts)])
    order = np.argsort(rows, kind="stable")
    return Stored(rows[order], same[order])


def _at(spans: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    return spans if rows.size == spans.num_rows else spans.take(pa.array(rows))


def load_recent(cursor: duckdb.DuckDBPyConnection, recent: RecentSpans) -> None:
    """Remember the spans of a store that came last, as many as are remembered for certain."""
    rows = cursor.sql(queries.text("store/recent_span_ids"), params={"count": recent.capacity})
    for batch in rows.to_arrow_reader(_LOADED_ROWS):
        words = np.frombuffer(batch["trace_id"].buffers()[2], np.uint64, 2 * batch.num_rows).reshape(-1, 2)
        keys = np.column_stack([words, batch["span_id"].to_numpy()])
        recent.add(keys, batch["ingest_id"].to_numpy().astype(np.int64), batch["start_ns"].to_numpy())
    older = cursor.execute(queries.text("store/last_older_ingest"), {"count": recent.capacity}).fetchall()
    recent.covered_from = int(older[0][0] or -1) + 1
    if recent.covered_from:
        last = {"last_ingest_id": recent.covered_from - 1}
        for starts_ns in cursor.execute(queries.text("store/older_minutes"), last).fetchnumpy().values():
            recent.older_minutes.add(np.asarray(starts_ns, np.int64))
