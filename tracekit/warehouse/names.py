"""Names by which traces belong together: ids of requests, links, training jobs.

Traces that share a name are built in one place, because what is made of one depends on the others. A name that more
traces have than one request may have joins nothing; its traces need not meet, and each place is told of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit import queries
from tracekit.records import Batch
from tracekit.stages import define_request_ids
from tracekit.store import Database

_JOB, _CLAIMS = "tracekit.job.id", ("tracekit.job.id", "tracekit.attempt", "tracekit.rank")
_SCHEMA = pa.schema([("name", pa.string()), ("trace_id", pa.binary(16))])


@dataclass(frozen=True, slots=True)
class Names:
    """`requests` and `jobs`: tables of `name` and `trace_id` (16 bytes), a row a pair."""

    requests: pa.Table
    jobs: pa.Table

    @classmethod
    def none(cls) -> Names:
        """No names."""
        empty = pa.table([pa.array([], field.type) for field in _SCHEMA], schema=_SCHEMA)
        return cls(empty, empty)


def all_names(names: Sequence[Names]) -> Names:
    """The names of several batches, each pair once."""
    everything = [Names.none(), *names]
    return Names(_once([each.requests for each in everything]), _once([each.jobs for each in everything]))


def pairs_of(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """The columns `name` and `trace_id` of a relation as a table of names; rows that lack one name nothing."""
    return relation.to_arrow_table().select(_SCHEMA.names).cast(_SCHEMA).drop_null()


def _once(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).group_by(["name", "trace_id"]).aggregate([]).cast(_SCHEMA)


def names_of(batch: Batch, scratch: Database) -> Names:
    """The names that the spans of a batch give their traces; `scratch` is a store in memory to compute in."""
    return Names(_requests(batch, scratch), _jobs(batch))


def _requests(batch: Batch, scratch: Database) -> pa.Table:
    """Ids of requests as the store reads them of attributes, and links between traces."""
    with scratch.transaction() as cursor:
        cursor.execute("DELETE FROM base.span_attribute_keys")
        cursor.register("keys_in", batch.span_keys.select(["key"]).group_by(["key"]).aggregate([]))
        cursor.execute("INSERT INTO base.span_attribute_keys SELECT 0, key FROM keys_in")
        keys = define_request_ids(cursor)
        if keys or batch.span_links.num_rows:
            define_telling(cursor, keys)
            spans = batch.spans.select(["trace_id", "kind", "attributes"])
            rows = pa.array(np.arange(spans.num_rows, dtype=np.int64))
            cursor.register("spans_in", spans.append_column("span_row", rows))
            cursor.register("links_in", batch.span_links.select(["span_row", "linked_trace_id", "linked_span_id"]))
            return pairs_of(cursor.sql(queries.text("warehouse/request_names")))
    return Names.none().requests


def define_telling(cursor: duckdb.DuckDBPyConnection, keys: Sequence[str]) -> None:
    """Let `telling` find the attributes that name requests in the text of all, and `told` make attributes of them.

    A VARIANT of all that a span has takes ten times as long, and most spans of a trace tell the same.
    """
    paths = ", ".join(f"""'$."{key}"'""" for key in keys)
    pairs = ", ".join(f"'{key}', found[{place}]" for place, key in enumerate(keys, 1))
    cursor.execute(
        "CREATE OR REPLACE TEMP MACRO telling(said) AS "
        f"CASE WHEN json_valid(said) THEN json_extract(said, [{paths}]::VARCHAR[]) END"
    )
    cursor.execute(f"CREATE OR REPLACE TEMP MACRO told(found) AS json_object({pairs})::VARIANT")


def _jobs(batch: Batch) -> pa.Table:
    """The training jobs whose processes have spans in the traces."""
    jobs = [_job(text) for text in batch.resources["attributes"].to_pylist()]
    rows = batch.spans["resource_row"].to_numpy()
    of_job = np.array([job is not None for job in jobs], np.bool_)
    chosen: NDArray[np.intp] = np.flatnonzero(of_job[rows]) if rows.size else np.empty(0, np.intp)
    if not chosen.size:
        return Names.none().jobs
    names = pa.array([job or "" for job in jobs]).take(pa.array(rows[chosen]))
    traces = batch.spans["trace_id"].take(pa.array(chosen)).combine_chunks()
    return _once([pa.table([names, traces], schema=_SCHEMA).drop_null()])


def _job(attributes: str | None) -> str | None:
    """The job that a resource is a process of, '' for a nameless one; None for what is no process of a job."""
    try:
        said = json.loads(attributes or "{}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or all(said.get(claim) is None for claim in _CLAIMS):
        return None
    job = said.get(_JOB)
    return job if isinstance(job, str) else "" if job is None else json.dumps(job)
