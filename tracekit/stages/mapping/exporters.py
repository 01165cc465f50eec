"""Which mappings there are, and what they say about the spans of a batch: `queries/stages`, a file an exporter."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from tracekit.stages.mapping.attributes import batch_statement

EXPORTERS = (
    "dynamo",
    "messaging",
    "retry",
    "tracekit",
    "sglang",
    "triton",
    "tgi",
    "litellm",
    "vllm",
    "tensorrt_llm",
    "llm_d",
    "ray_serve",
    "envoy",
    "gateway",
    "generic",
)
"""The mappings of traces, in order of precedence: `queries/stages/<name>.sql`.

Whatever an attempt did that was thrown away, its time is that of the repetition, so `retry` comes before all but
Dynamo's, which knows the attempts whose tokens are kept.
"""

STEP_EXPORTERS = ("tracekit", "unlabelled")
"""The mappings of training steps."""


def needed(cursor: duckdb.DuckDBPyConnection, exporters: tuple[str, ...], keys: frozenset[str]) -> list[str]:
    """The exporters that may have sent spans of the batch: planning a long statement takes its time, too."""
    asked = cursor.execute(batch_statement("units/batch_exporters", keys), {"keys": sorted(keys)})
    columns = [column[0] for column in asked.description]
    may_have_sent = dict(zip(columns, asked.fetchall()[0], strict=True))
    return [exporter for exporter in exporters if may_have_sent.get(exporter, True)]


def map_spans(
    cursor: duckdb.DuckDBPyConnection, *, keys: frozenset[str], exporters: tuple[str, ...] = EXPORTERS
) -> tuple[pa.Table, ...]:
    """What each mapping says about the spans of `batch_spans`, in order of precedence.

    `keys` are the attributes that spans of the batch may have; a mapping that needs others is not run.
    The columns of each table are those that the file of the mapping describes.
    """
    return tuple(
        cursor.sql(batch_statement(f"stages/{exporter}", keys)).to_arrow_table()
        for exporter in needed(cursor, exporters, keys)
    )
