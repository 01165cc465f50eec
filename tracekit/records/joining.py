"""Several batches as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import accumulate

import pyarrow as pa

from tracekit.records.batch import Batch

# Columns that count the rows of another table, by the name of that table.
_COUNTED = {
    "resource_row": "resources",
    "scope_row": "scopes",
    "span_row": "spans",
    "stream_row": "metric_streams",
    "document_row": "documents",
}


def joined(batches: Sequence[Batch]) -> Batch:
    """The records of all batches in order, as if their documents had been read together."""
    if len(batches) == 1:
        return batches[0]
    first_rows = _first_rows(batches)
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


def _first_rows(batches: Sequence[Batch]) -> list[dict[str, int]]:
    """For each batch, the number of rows before it in the table that each counting column counts."""
    counts = {column: [getattr(batch, table).num_rows for batch in batches] for column, table in _COUNTED.items()}
    before = {column: list(accumulate(numbers, initial=0)) for column, numbers in counts.items()}
    return [{column: numbers[place] for column, numbers in before.items()} for place in range(len(batches))]


def _shifted(table: pa.Table, first_rows: dict[str, int]) -> pa.Table:
    from pyarrow import compute  # takes a tenth of a second, and one batch alone needs none of it

    for place, field in enumerate(table.schema):
        if field.name in first_rows:
            column = compute.add(table[field.name], pa.scalar(first_rows[field.name], field.type))
            table = table.set_column(place, field, column)
    return table
