"""Events and links of spans, as tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.reading import Reading, kept_rows
from tracekit.records import SPAN_EVENTS, SPAN_LINKS, Reason


@dataclass(frozen=True)
class Children:
    """The events or the links of all spans, read before it is known which spans are kept."""

    reading: Reading
    record: str
    schema: pa.Schema
    columns: dict[str, pa.Array]
    verdict: Verdict
    """What is wrong with a row costs its whole span."""
    repeated: np.ndarray
    """`[row]`: number of keys that came again."""
    is_wrong: np.ndarray
    """`[row]`: whether the row alone is set aside."""

    @property
    def parents(self) -> np.ndarray:
        """Row of each row's span."""
        return self.reading.rows.parents(self.record)

    def table(self, spans: Verdict) -> pa.Table:
        """The rows of kept spans: their span's row among those kept, their place among all siblings as
        sent.
        """
        parents = self.parents
        if len(parents) == 0:
            return self.schema.empty_table()
        span_rows = np.cumsum(spans.is_kept)[parents] - 1
        places = np.arange(len(parents)) - np.searchsorted(parents, parents, side="left")
        span_name, place_name = self.schema.names[:2]
        found = {
            **self.columns,
            span_name: columns.cast_numbers(span_rows, pa.int64()),
            place_name: columns.cast_numbers(places, pa.int32()),
        }
        table = pa.table([found[name] for name in self.schema.names], schema=self.schema)
        return kept_rows(table, ~self.is_wrong & spans.is_kept[parents])

    def write_notes(self, spans: Verdict, documents: np.ndarray) -> None:
        """Notes what was set aside of kept spans; `documents` is per span."""
        is_kept = spans.is_kept[self.parents]
        documents_of_rows = documents[self.parents]
        repeated = np.where(is_kept, self.repeated, 0)
        self.reading.note_repeated("traces", f"{self.record}.attributes", repeated, documents_of_rows)
        bad = np.flatnonzero(self.is_wrong & is_kept)
        self.reading.log.add(
            "traces", Reason.LINK_ID_INVALID, kind="note", documents=documents_of_rows[bad],
            positions=self.verdict.position[bad],
        )  # fmt: skip


def events(reading: Reading) -> Children:
    """The events of all spans."""
    verdict = reading.open_verdict("Event")
    if len(verdict.reason) == 0:
        return _none(reading, "Event", SPAN_EVENTS, verdict)
    attributes, repeated = reading.attributes("Event.attributes", verdict)
    found = {
        "time_ns": columns.numbers(reading.time("Event.time_unix_nano", verdict, needed=False), pa.int64()),
        "name": reading.text("Event.name", verdict),
        "attributes": attributes,
        "dropped_attributes_count": reading.small("Event.dropped_attributes_count", pa.uint32(), verdict),
    }
    is_wrong = np.zeros(len(repeated), np.bool_)
    return Children(reading, "Event", SPAN_EVENTS, found, verdict, repeated, is_wrong)


def links(reading: Reading) -> Children:
    """The links of all spans; one that leads nowhere, without both ids, is set aside."""
    verdict = reading.open_verdict("Link")
    if len(verdict.reason) == 0:
        return _none(reading, "Link", SPAN_LINKS, verdict)
    trace_id = reading.ids("Link.trace_id", size_bytes=16)
    span_id = reading.ids("Link.span_id", size_bytes=8)
    attributes, repeated = reading.attributes("Link.attributes", verdict)
    found = {
        "linked_trace_id": columns.trace_ids(trace_id),
        "linked_span_id": columns.span_ids(span_id),
        "trace_state": reading.text("Link.trace_state", verdict),
        "flags": reading.small("Link.flags", pa.uint32(), verdict),
        "attributes": attributes,
        "dropped_attributes_count": reading.small("Link.dropped_attributes_count", pa.uint32(), verdict),
    }
    is_wrong = columns.is_zero(trace_id) | columns.is_zero(span_id)
    return Children(reading, "Link", SPAN_LINKS, found, verdict, repeated, is_wrong)


def _none(reading: Reading, record: str, schema: pa.Schema, verdict: Verdict) -> Children:
    return Children(reading, record, schema, {}, verdict, np.zeros(0, np.int32), np.zeros(0, np.bool_))
