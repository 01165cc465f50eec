"""The records of some documents as Arrow tables that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.records.schemas import DOCUMENTS, SCHEMAS

_RECORDS = ("spans", "metric_points", "metric_histograms", "metric_summaries", "logs")


@dataclass(frozen=True)
class Batch:
    """Everything that was read together; the columns of each table are in `SCHEMAS`.

    `documents` says where the records come from: the `document_row` of a span, stream or log record leads to its
    source, so a batch can hold several files. `rejects` is what could not be stored, or was stored with something set
    aside. `span_keys` may be empty: whoever stores the batch then reads the keys from the attributes.
    """

    resources: pa.Table
    scopes: pa.Table
    spans: pa.Table
    span_keys: pa.Table
    span_events: pa.Table
    span_links: pa.Table
    metric_streams: pa.Table
    metric_points: pa.Table
    metric_histograms: pa.Table
    metric_summaries: pa.Table
    exemplars: pa.Table
    logs: pa.Table
    rejects: pa.Table
    documents: pa.Table

    @classmethod
    def of(cls, **tables: pa.Table) -> Batch:
        """A batch of these tables, the others empty; a table's columns may stand in any order."""
        cast = {name: table.select(SCHEMAS[name].names).cast(SCHEMAS[name]) for name, table in tables.items()}
        return cls(**{name: cast[name] if name in cast else empty_table(name) for name in SCHEMAS})

    @property
    def record_count(self) -> int:
        """Spans, metric points of all kinds and log records."""
        return sum(getattr(self, name).num_rows for name in _RECORDS)

    @property
    def record_bytes(self) -> int:
        """Memory that these take."""
        return sum(getattr(self, name).nbytes for name in _RECORDS)


def empty_table(name: str) -> pa.Table:
    """A table of a batch without rows."""
    # `Schema.empty_table` does the same, and imports pandas.
    return pa.table([pa.array([], field.type) for field in SCHEMAS[name]], schema=SCHEMAS[name])


def documents_at(offsets: Sequence[int] | np.ndarray, *, source_row: int = 0) -> pa.Table:
    """Table `documents` of documents at these bytes of one source."""
    offsets = np.asarray(offsets, np.int64)
    return pa.table([np.full(len(offsets), source_row, np.int32), offsets], schema=DOCUMENTS)
