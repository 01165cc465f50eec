"""Who sent what, numbered as a store numbers it: by one place, in order of the sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tracekit.errors import StoreError
from tracekit.records import Batch, empty_table
from tracekit.store import Database, is_refusal, write_batch


def add_senders(database: Database, batches: Iterable[Batch]) -> None:
    """Number the resources, scopes and series of batches without records; those that a store refuses get none.

    Raises `StoreError` where the store cannot be written.
    """
    for batch in batches:
        try:
            _add(database, batch)
        except StoreError as error:
            if not is_refusal(error):
                raise
            _add_each(database, batch)


def _add(database: Database, batch: Batch) -> None:
    numbers = database.dedup_cache.numbers
    with database.writing, numbers.transaction(), database.transaction() as cursor:
        write_batch(cursor, batch, ingest_id=0, cache=database.dedup_cache)


def _add_each(database: Database, batch: Batch) -> None:
    for single in _singles(batch):
        try:
            _add(database, single)
        except StoreError as error:
            if not is_refusal(error):
                raise


def _singles(batch: Batch) -> Iterator[Batch]:
    """Every resource with its keys, every scope and every series as a batch of its own."""
    nothing = {name: empty_table(name) for name in ("resources", "scopes", "span_keys", "metric_streams")}
    for row in range(batch.resources.num_rows):
        keys = batch.span_keys.filter(pa.array(batch.span_keys["resource_row"].to_numpy() == row))
        yield replace(batch, **nothing | {"resources": batch.resources.slice(row, 1), "span_keys": _first(keys)})
    for row in range(batch.scopes.num_rows):
        yield replace(batch, **nothing | {"scopes": batch.scopes.slice(row, 1)})
    for row in range(batch.metric_streams.num_rows):
        stream = batch.metric_streams.slice(row, 1)
        owners = {name: int(stream[f"{name}_row"][0].as_py()) for name in ("resource", "scope")}
        yield replace(
            batch,
            resources=batch.resources.slice(owners["resource"], 1),
            scopes=batch.scopes.slice(owners["scope"], 1),
            span_keys=empty_table("span_keys"),
            metric_streams=_first(stream),
        )


def _first(table: pa.Table) -> pa.Table:
    """The table with the first resource and the first scope as its own."""
    for name in ("resource_row", "scope_row"):
        if name in table.column_names:
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), pa.array(np.zeros(table.num_rows, np.int32)))
    return table
