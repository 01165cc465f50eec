"""A mapping that is not run would have said nothing, whatever spans a batch has."""

from __future__ import annotations

import re
from dataclasses import replace

import duckdb
import pytest

import tracekit
from tests.unit.stages.stored import CLIENT, CONSUMER, ERROR, INTERNAL, SERVER, Span, store
from tracekit import queries
from tracekit.stages.mapping import EXPORTERS, batch_statement, make_batch_spans, needed
from tracekit.stages.update.reading import READ_BY_MAPPINGS
from tracekit.store import Database

ROOT = Span(1, 0, 100)
KINDS = [
    Span(2, 10, 60, "POST /v1/completions", parent=1, kind=SERVER, attributes={"http.request.method": "POST"}),
    Span(2, 10, 60, "GET", parent=1, kind=SERVER, attributes={"http.status_code": 200, "http.target": "/generate"}),
    Span(2, 10, 60, "chat", parent=1, kind=CLIENT, attributes={"gen_ai.system": "x"}),
    Span(2, 10, 60, "chat", parent=1, kind=CLIENT, attributes={"gen_ai.provider.name": "x"}),
    Span(2, 10, 60, "chat", parent=1, kind=CLIENT, attributes={"gen_ai.request.model": "m"}),
    Span(2, 10, 60, "chat", parent=1, kind=CLIENT, attributes={"llm.request.type": "chat"}),
    Span(2, 10, 60, "chat", parent=1, kind=INTERNAL, attributes={"gen_ai.operation.name": "chat"}),
    Span(2, 10, 60, "LLM", parent=1, kind=INTERNAL, attributes={"openinference.span.kind": "LLM"}),
    Span(2, 10, 60, "x", parent=1, kind=INTERNAL, attributes={"ai.operationId": "ai.generateText.doGenerate"}),
    Span(2, 10, 60, "llm_request", parent=1, kind=SERVER),
    Span(2, 10, 60, "trtllm", parent=1, attributes={"gen_ai.latency.time_in_model_inference": 1e-8}),
    Span(2, 10, 60, "vllm", parent=1, attributes={"gen_ai.latency.time_in_model_prefill": 1e-8}),
    Span(2, 10, 60, "vllm", parent=1, attributes={"gen_ai.latency.time_in_model_decode": 1e-8}),
    Span(2, 10, 60, "Load model", parent=1, scope="vllm.worker"),
    Span(2, 10, 60, "auth", parent=1),
    Span(2, 10, 60, "route x", parent=1, kind=CLIENT, status=ERROR),
    Span(2, 10, 60, "receive", parent=1, kind=CONSUMER),
    Span(2, 10, 60, "work", parent=1, attributes={"tracekit.stage": "gw.auth"}),
    Span(2, 10, 60, "http-request", parent=1, attributes={"dynamo.request.id": "1"}),
    Span(2, 10, 60, "Req 1a2b", parent=1, attributes={"module": "sglang::request"}),
    Span(2, 10, 60, "Scheduler", parent=1, attributes={"thread_label": "Scheduler"}),
    Span(2, 10, 60, "Generate", parent=1, kind=CLIENT, attributes={"rpc.response.status_code": "UNAVAILABLE"}),
    Span(2, 10, 60, "InferRequest", parent=1, attributes={"triton.model_name": "m"}),
    Span(2, 10, 60, "Received Proxy Server Request", parent=1, kind=SERVER),
    Span(2, 10, 60, "generate", parent=1, attributes={"inference_time": "1ms"}),
    Span(2, 10, 60, "gateway.x", parent=1, scope="llm-d"),
    Span(2, 10, 60, "proxy_http_request", parent=1),
    Span(2, 10, 60, "ingress", parent=1, attributes={"component": "proxy", "response_flags": "-"}),
    Span(2, 10, 60, "disaggregated_request", parent=1),
    Span(2, 10, 60, parent=1),
]
"""One span of each kind that a mapping asks for."""


def rows_of(cursor: duckdb.DuckDBPyConnection) -> dict[str, set[int]]:
    """Spans that each mapping says something about, over all traces of the store in one batch; and `batch_spans`."""
    cursor.execute(
        "CREATE TEMP TABLE dirty_traces AS SELECT DISTINCT trace_id, NULL::BIGINT AS old_unit FROM base.spans"
    )
    cursor.execute(queries.text("units/said_values"))
    for table in ("first_token_events", "error_events"):
        cursor.execute(f"CREATE TEMP TABLE {table} AS {queries.text(f'units/{table}')}")
    cursor.execute(
        "CREATE TEMP TABLE batch_traces AS SELECT trace_id, row_number() OVER () AS trace_no FROM dirty_traces"
    )
    cursor.execute("SET VARIABLE batch_first_ns = 0")
    cursor.execute("SET VARIABLE batch_last_ns = 9223372036854775807")
    keys = make_batch_spans(cursor, "batch_spans")
    for table, query in READ_BY_MAPPINGS.items():
        cursor.execute(f"CREATE TEMP TABLE {table} AS {batch_statement(query, keys)}")
    return {name: {row[0] for row in cursor.execute(_spans_of(name, keys)).fetchall()} for name in EXPORTERS}


def _spans_of(mapping: str, keys: frozenset[str]) -> str:
    return f"SELECT span_row FROM ({batch_statement(f'stages/{mapping}', keys)})"


def test_what_is_left_out_says_nothing_about_any_kind_of_span() -> None:
    """Where a batch has one such span, and the store no attribute but its own."""
    with Database.open(None) as database:
        for trace, kind in enumerate(KINDS, 1):
            store(database, [replace(ROOT, trace=trace), replace(kind, trace=trace)])
        with database.transaction() as cursor:
            said = rows_of(cursor)
            cursor.execute("CREATE TEMP TABLE all_spans AS FROM batch_spans")
            for trace, kind in enumerate(KINDS, 1):
                cursor.execute(f"CREATE OR REPLACE TEMP VIEW batch_spans AS {_OF_TRACE.format(trace=trace)}")
                here = {row for (row,) in cursor.execute("SELECT span_row FROM batch_spans").fetchall()}
                telling = {name for name, rows in said.items() if rows & here}
                assert telling <= set(needed(cursor, EXPORTERS, frozenset(kind.attributes))), kind
    assert {name for name, rows in said.items() if rows} >= {
        "vllm",
        "gateway",
        "dynamo",
        "sglang",
        "triton",
        "tracekit",
    }


_OF_TRACE = "SELECT * FROM all_spans WHERE trace_id = '{trace:032x}'::UUID"


def test_what_statements_over_a_batch_read_is_among_the_mapped_attributes() -> None:
    """What is not would be NULL whatever the spans have."""
    mapped = {key for (key,) in duckdb.sql(queries.text("units/mapped_attributes")).fetchall()}
    over_batches = [
        text
        for name in (*queries.names("stages"), *queries.names("units"))
        if re.search(r"\b(FROM|JOIN) batch_spans\b", text := queries.text(name))
    ]
    read = {key for text in over_batches for key in re.findall(r"attributes\['([^']+)'\]", text)}
    assert len(read) > 50
    assert read <= mapped


@pytest.mark.parametrize("capture", ["vllm_gateway", "train_ddp_gloo"])
def test_what_is_left_out_says_nothing_about_real_traces(capture: str) -> None:
    """The captures that ship with tracekit."""
    with tracekit.open(None) as opened:
        opened.ingest(queries.folder("sample_traces") / capture)
        with opened.database.transaction() as cursor:
            said = rows_of(cursor)
            keys = cursor.execute("SELECT DISTINCT key FROM base.span_attribute_keys").fetchall()
            run = set(needed(cursor, EXPORTERS, frozenset(key for (key,) in keys)))
    assert {name for name, rows in said.items() if rows} <= run
    assert run < set(EXPORTERS)
