"""The spans of some whole traces, what they are, and how they hang together: from Arrow tables to a forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.partition import NO_WAIT, UNKNOWN_HOST, Forest, Skew, estimate_skew
from tracekit.stages.units.clocks import CLIENT, SERVER, doubtful_hosts
from tracekit.stages.units.messages import CONSUMER, PRODUCER, retried, with_messages_of_their_own
from tracekit.stages.units.operations import Operations, operations_of
from tracekit.stages.units.spans import Spans
from tracekit.stages.units.startup import with_requests_of_their_own


@dataclass(frozen=True, eq=False)
class TraceTables:
    """All that is known about the spans of some whole traces, as Arrow tables.

    spans : a row a span: `span_row` (int64, tells the spans of these tables apart), `key` (int64, number of
        the trace), `span_id`, `parent_span_id` (uint64, 0 for none), `start_ns`, `end_ns` (int64), `kind`
        (uint8, OTLP span kind), `resource_id`.
    mapped : what the mappings say, in order of precedence; see `operations_of`.
    outcomes : how spans say that they ended: `span_row`, `outcome`.
    unawaited : spans that say that nothing waits for them: `span_row`.
    waits : what spans say they waited for, in the same trace or not: `span_row`, `awaited_row`.
    hosts : number of the host of each resource, -1 where unknown: `resource_id`, `host`.
    window_overrides : stages that are something else in a window: `stage`, `window`, `becomes`.
    alternatives : spans of traces of one kind beside each other in a request, any of which may have served it:
        `span_row`, `kind_no`, `trace_no_of_kind`.
    """

    spans: pa.Table
    mapped: tuple[pa.Table, ...]
    outcomes: pa.Table
    unawaited: pa.Table
    waits: pa.Table
    hosts: pa.Table
    window_overrides: pa.Table
    alternatives: pa.Table


@dataclass(frozen=True, eq=False)
class TraceBatch:
    """All spans of some traces, what they are, and how they hang together.

    `as_sent`: the spans before work that messages start became units of its own. `outcomes` is what root spans say
    (`row`, `outcome`); `skew` None where no clock needs correcting;
    `window_overrides` are the stages that are something else in a window (`stage`, `window`, `becomes`).
    `alternatives`: rows of traces any of which may have served the request (`row`, `kind_no`, `trace_no_of_kind`).
    """

    spans: Spans
    as_sent: Spans
    operations: Operations
    forest: Forest
    skew: Skew | None
    outcomes: pl.DataFrame
    window_overrides: pl.DataFrame
    alternatives: pl.DataFrame


def trace_batch(tables: TraceTables) -> TraceBatch:
    """The traces of the tables as columns that refer to each other by row."""
    spans = Spans.from_table(tables.spans)
    operations = operations_of(spans, tables.mapped)
    as_sent = with_requests_of_their_own(spans, operations)
    spans = with_messages_of_their_own(as_sent)
    forest, skew = _forest(spans, tables)
    return TraceBatch(
        spans=spans,
        as_sent=as_sent,
        operations=operations,
        forest=forest,
        skew=skew,
        outcomes=_outcomes(spans, tables.outcomes),
        window_overrides=pl.DataFrame(tables.window_overrides),
        alternatives=_alternatives(spans, tables.alternatives),
    )


def _forest(spans: Spans, tables: TraceTables) -> tuple[Forest, Skew | None]:
    host = doubtful_hosts(spans, _hosts(spans, tables.hosts))
    forest = Forest.from_columns(
        key=spans.key,
        parent=spans.parent,
        missing_parent_id=spans.parent_span_id,
        start_ns=spans.start_ns,
        end_ns=spans.end_ns,
        tiebreak=spans.span_id,
        blocking=_blocking(spans, tables.unawaited),
        waits_for=_waits(spans, tables.waits),
        host=host,
        is_client=spans.kind == CLIENT,
        is_server=spans.kind == SERVER,
    )
    return forest, estimate_skew(forest) if (host >= 0).any() else None


def _hosts(spans: Spans, hosts: pa.Table) -> NDArray[np.int32]:
    """Number of the host of each span."""
    order = np.argsort(hosts["resource_id"].to_numpy())
    resource_id = hosts["resource_id"].to_numpy()[order]
    at = np.searchsorted(resource_id, spans.resource_id)
    is_known = np.append(resource_id, 0)[at] == spans.resource_id
    is_known &= at < len(resource_id)
    host = np.append(hosts["host"].to_numpy()[order], UNKNOWN_HOST)
    return np.where(is_known, host[at], UNKNOWN_HOST).astype(np.int32)


def _blocking(spans: Spans, unawaited: pa.Table) -> NDArray[np.bool_]:
    """Consumers do not hold up the producer above them, nor does what says that nothing waits for it.

    A unit lasts until its last attempt: that one is waited for.
    """
    from_producer = (spans.parent >= 0) & (spans.kind[np.maximum(spans.parent, 0)] == PRODUCER)
    blocking = ~((spans.kind == CONSUMER) & from_producer)
    blocking[retried(spans)] = True
    blocking[spans.rows_of(unawaited["span_row"].to_numpy())] = False
    return blocking


def _waits(spans: Spans, waits: pa.Table) -> NDArray[np.int64]:
    waits_for = np.full(spans.count, NO_WAIT, dtype=np.int64)
    row, awaited = (spans.rows_of(waits[name].to_numpy()) for name in ("span_row", "awaited_row"))
    is_inside = spans.key[row] == spans.key[awaited]
    waits_for[row[is_inside]] = awaited[is_inside]
    return waits_for


def _alternatives(spans: Spans, alternatives: pa.Table) -> pl.DataFrame:
    row = spans.rows_of(alternatives["span_row"].to_numpy())
    return pl.DataFrame(alternatives).select(pl.Series("row", row), "kind_no", "trace_no_of_kind")


def _outcomes(spans: Spans, outcomes: pa.Table) -> pl.DataFrame:
    """Outcomes that spans tell which may be the primary root of their trace."""
    is_top = spans.parent < 0
    has_top = np.bincount(spans.key, weights=is_top) > 0
    is_candidate = is_top | ~has_top[spans.key]
    row = spans.rows_of(outcomes["span_row"].to_numpy())
    told = pl.DataFrame(outcomes).select(pl.Series("row", row), "outcome")
    return told.filter(pl.Series(is_candidate[row]))
