"""Exemplars: single measurements behind a metric point, with the span that made them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.reading import Reading, reject_parents
from tracekit.otlp.wire.fields import CODE
from tracekit.records import EXEMPLARS, Reason


class Exemplars:
    """The exemplars of a reading, of points of every type."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.parents = reading.rows.parents("Exemplar")
        self.codes = reading.rows.codes("Exemplar")
        self.verdict = reading.open_verdict("Exemplar")
        self.columns, self.repeated = _content(reading, self.verdict)
        self.is_wrong = reading.has_wrong_size("Exemplar.trace_id", size_bytes=16)
        self.is_wrong |= reading.has_wrong_size("Exemplar.span_id", size_bytes=8)

    def held_by(self, point: str) -> np.ndarray:
        """Rows of the exemplars that points of a type hold."""
        return np.flatnonzero(self.codes == CODE.get(f"{point}.exemplars", -1))

    def reject_points(self, point: str, points: Verdict) -> None:
        """Rejects the points that hold an exemplar with a fault."""
        reject_parents(points, self.verdict, self.parents, rows=self.held_by(point))

    def table(self, point: str, points: Verdict, documents: np.ndarray, *, first_stream: int) -> pa.Table:
        """The exemplars of the kept points of a type, whose streams begin at a row; `documents` is per
        point.
        """
        held = self.held_by(point)
        of_kept = held[points.is_kept[self.parents[held]]]
        self._note(of_kept, documents)
        points_of_kept = self.parents[of_kept]
        stream_rows = np.cumsum(points.is_kept)[points_of_kept] - 1 + first_stream
        time_ns = self.reading.rows.number(f"{point}.time_unix_nano")[points_of_kept]
        taken = self.columns.take(pa.array(of_kept))
        head = [columns.numbers(stream_rows, pa.int64()), columns.numbers(time_ns, pa.int64())]
        return pa.table([*head, *taken.columns], schema=EXEMPLARS)

    def _note(self, rows: np.ndarray, documents: np.ndarray) -> None:
        bad = rows[self.is_wrong[rows]]
        self.reading.log.add(
            "metrics", Reason.EXEMPLAR_ID_INVALID, kind="note", documents=documents[self.parents[bad]],
            positions=self.verdict.position[bad],
        )  # fmt: skip
        counts = np.zeros_like(self.repeated)
        counts[rows] = self.repeated[rows]
        documents_of_all = np.zeros(len(counts), np.int64)
        documents_of_all[rows] = documents[self.parents[rows]]
        self.reading.note_repeated("metrics", "Exemplar.filtered_attributes", counts, documents_of_all)


def _content(reading: Reading, verdict: Verdict) -> tuple[pa.Table, np.ndarray]:
    """The columns that need nothing of the point, and the number of keys that came again in each row."""
    attributes, repeated = reading.attributes("Exemplar.filtered_attributes", verdict)
    trace_id = reading.ids("Exemplar.trace_id", size_bytes=16)
    span_id = reading.ids("Exemplar.span_id", size_bytes=8)
    integers, floats = reading.rows.number("Exemplar.as_int"), reading.rows.number("Exemplar.as_double")
    found = {
        "time_ns": columns.numbers(reading.time("Exemplar.time_unix_nano", verdict, needed=False), pa.int64()),
        "value_int": columns.numbers(integers, pa.int64(), is_valid=reading.rows.is_set("Exemplar.as_int")),
        "value_double": columns.doubles(floats, is_valid=reading.rows.is_set("Exemplar.as_double")),
        "trace_id": columns.trace_ids(trace_id, is_valid=~columns.is_zero(trace_id)),
        "span_id": columns.span_ids(span_id, is_valid=~columns.is_zero(span_id)),
        "attributes": attributes,
    }
    return pa.table(found), repeated
