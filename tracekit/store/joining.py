"""Several decoded batches as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from tracekit.otlp import Batch

# Columns that count the rows of another table, by the name of that table.
_COUNTED = {
    "resource_row": "resources",
    "scope_row": "scopes",
    "span_row": "spans",
    "stream_row": "metric_streams",
}


def joined(batches: Sequence[Batch], *, document_counts: Sequence[int]) -> Batch:
    """The records of all batches in order, as if their documents had been decoded together.

    `document_counts` is the number of documents of each batch.
    """
    if len(batches) == 1:
        return batches[0]
    first_rows = _first_rows(batches, document_counts)
    tables = {
        table.name: pa.concat_tables(
            _shifted(getattr(batch, table.name), rows) for batch, rows in zip(batches, first_rows, strict=True)
        )
        for table in fields(batches[0])
    }
    # Spans stay in pieces: their texts are many, and whoever orders them copies them once more.
    return replace(
        batches[0], **{name: table if name == "spans" else table.combine_chunks() for name, table in tables.items()}
    )


def _first_rows(batches: Sequence[Batch], document_counts: Sequence[int]) -> list[dict[str, int]]:
    """For each batch, the number of rows before it in the table that each counting column counts."""
    counts = {column: [getattr(batch, table).num_rows for batch in batches] for column, table in _COUNTED.items()}
    counts["document_row"] = list(document_counts)
    before = {column: list(accumulate(numbers, initial=0)) for column, numbers in counts.items()}
    return [{column: numbers[place] for column, numbers in before.items()} for place in range(len(batches))]


def _shifted(table: pa.Table, first_rows: dict[str, int]) -> pa.Table:
    for place, field in enumerate(table.schema):
        if field.name in first_rows:
            column = pc.add(table[field.name], pa.scalar(first_rows[field.name], field.type))
            table = table.set_column(place, field, column)
    return table
