"""What is in the store after batches are written: every record once, nothing lost, the rest counted."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.store.records import attributes, batch, gauge, logs, metrics, point, span, traces
from tracekit.records import documents_at
from tracekit.store import Database, IngestWriter, WriteCounts

TABLES = (
    "spans",
    "span_events",
    "span_links",
    "metric_points",
    "metric_histograms",
    "metric_summaries",
    "exemplars",
    "logs",
)


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened


def write(database: Database, *documents: dict[str, Any]) -> WriteCounts:
    """One ingest of one batch."""
    writer = IngestWriter(database, source="test")
    writer.write(batch(*documents))
    return writer.finish()


def reasons(counts: WriteCounts) -> dict[str, int]:
    return {reject.reason: reject.record_count for reject in counts.rejects}


def test_a_span_keeps_every_field(database: Database) -> None:
    """What OTLP carries is in the store: ids, times, flags, states, counts, typed and nested attributes."""
    sent = span(
        0xABC, 0xF000000000000001, start=5, end=9, name="call",
        parentSpanId="f000000000000002", kind=3, traceState="a=1", flags=257,
        droppedAttributesCount=1, droppedEventsCount=2, droppedLinksCount=3,
        status={"code": 2, "message": "it broke"},
        attributes=[
            *attributes({"text": "x", "yes": True, "big": 2**53 + 1, "part": 0.1, "whole": 1.0}),
            {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "a"}]}}},
            {"key": "map", "value": {"kvlistValue": {"values": attributes({"inner": "y"})}}},
            {"key": "raw", "value": {"bytesValue": "AAE="}},
            {"key": "none", "value": {}},
        ],
    )  # fmt: skip
    assert write(database, traces(sent, rank=3)).spans == 1
    row = database.sql("SELECT * FROM spans").row(0, named=True)
    stored = {name: row[name] for name in row if name not in ("span_attributes", "resource_attributes")}
    assert stored == {
        "trace_id": "00000000000000000000000000000abc", "span_id": "f000000000000001",
        "parent_span_id": "f000000000000002", "service_name": "shop", "name": "call", "kind": "CLIENT",
        "start_ns": 5, "end_ns": 9, "duration_ns": 4, "status_code": "ERROR", "status_message": "it broke",
        "scope_name": "test", "scope_version": None, "trace_state": "a=1", "flags": 257,
        "dropped_attributes_count": 1, "dropped_events_count": 2, "dropped_links_count": 3,
        "resource_id": 1, "scope_id": 1, "ingest_id": 1,
    }  # fmt: skip
    assert json.loads(row["span_attributes"]) == {
        "text": "x", "yes": True, "big": 2**53 + 1, "part": 0.1, "whole": 1.0, "list": [1, "a"],
        "map": {"inner": "y"}, "raw": {"bytesValue": "AAE="}, "none": None,
    }  # fmt: skip
    assert json.loads(row["resource_attributes"]) == {"service.name": "shop", "rank": 3}
    types = database.sql(
        "SELECT variant_typeof(span_attributes['whole']), variant_typeof(span_attributes['big']) FROM spans"
    )
    assert types.row(0) == ("DOUBLE", "UINT64")


def test_events_and_links_stay_with_their_span(database: Database) -> None:
    """Spans are stored in another order than they came; their parts follow."""
    late = span(2, 21, events=[{"timeUnixNano": "7", "name": "second"}])
    early = span(1, 11, links=[{"traceId": f"{9:032x}", "spanId": f"{99:016x}", "traceState": "b=2"}])
    write(database, traces(late, service="b"), traces(early, span(1, 12), service="a"))
    events = database.sql("SELECT trace_id, span_id, event_index, time_ns, name FROM span_events")
    assert events.rows() == [(f"{2:032x}", f"{21:016x}", 0, 7, "second")]
    links = database.sql("SELECT trace_id, span_id, linked_trace_id, linked_span_id, trace_state FROM span_links")
    assert links.rows() == [(f"{1:032x}", f"{11:016x}", f"{9:032x}", f"{99:016x}", "b=2")]


def test_the_same_span_is_stored_once_within_a_batch_and_across(database: Database) -> None:
    """A retried request repeats spans; each is stored once, with its events, and counted."""
    event = [{"timeUnixNano": "1", "name": "event"}]
    counts = write(database, traces(span(1, 1, events=event), span(1, 1, events=event), span(1, 2)))
    assert (counts.spans, counts.duplicates, counts.rejected) == (2, 1, 0)
    counts = write(database, traces(span(1, 2), span(1, 3), span(2, 1)))
    assert (counts.spans, counts.duplicates, counts.rejected) == (2, 1, 0)
    assert database.sql("SELECT count(*) FROM spans").item() == 4
    assert database.sql("SELECT count(*) FROM span_events").item() == 1


@pytest.mark.parametrize(
    "change", [{"start": 0 + 2}, {"end": 3}, {"name": "other"}, {"kind": 3}, {"status": {"code": 2}}]
)
def test_a_different_span_under_a_known_id_is_refused_with_its_ids(database: Database, change: dict[str, Any]) -> None:
    """The first span stays; the second is rejected, never merged, in one batch as in two."""
    first = span(1, 1, end=9)
    other = span(1, 1, **({"end": 9} | change))
    assert reasons(write(database, traces(first, other))) == {"span_id_conflict": 1}
    counts = write(database, traces(other))
    assert (counts.spans, counts.duplicates, counts.rejected) == (0, 0, 1)
    assert f"span {1:016x} of trace {1:032x}" in str(counts.rejects[0].example)
    stored = database.sql("SELECT start_ns, end_ns, name, kind, status_code FROM spans")
    assert stored.rows() == [(1, 9, "work", "UNSPECIFIED", "UNSET")]


@pytest.mark.parametrize("kinds", [(3, 2), (2, 3), (4, 5), (5, 4)])
@pytest.mark.parametrize("is_one_batch", [True, False])
def test_client_and_server_may_share_an_id(database: Database, kinds: tuple[int, int], is_one_batch: bool) -> None:
    """As Zipkin has it: both are kept in either order, each of them once."""
    pair = [span(1, 1, end=9 + at, kind=kind) for at, kind in enumerate(kinds)]
    for part in [pair] if is_one_batch else [[one] for one in pair]:
        assert write(database, traces(*part)).rejected == 0
    counts = write(database, traces(*pair))
    assert (counts.spans, counts.duplicates, counts.rejected) == (0, 2, 0)
    assert database.sql("SELECT count(*) FROM spans").item() == 2


def test_the_same_span_id_in_another_trace_is_another_span(database: Database) -> None:
    """Only trace id and span id together name a span."""
    assert write(database, traces(span(1, 1), span(2, 1))).spans == 2


def test_points_and_records_are_the_same_only_when_everything_is(database: Database) -> None:
    """A point or log record that differs in any field is another one."""
    cpu = gauge("cpu", point(1, 5, host="a"), point(1, 5, host="a"), point(2, 5, host="a"), point(1, 5.0, host="a"))
    record = {"timeUnixNano": "1", "body": {"stringValue": "hello"}}
    counts = write(
        database,
        metrics(cpu, gauge("cpu", point(1, 5, host="b"))),
        logs(record, record, record | {"flags": 1}),
    )
    assert (counts.metric_points, counts.logs, counts.duplicates) == (4, 2, 2)
    counts = write(database, metrics(cpu), logs(record), logs(record, service="other"))
    assert (counts.metric_points, counts.logs, counts.duplicates) == (0, 1, 5)
    assert database.sql("SELECT count(*) FROM metric_streams").item() == 2


def test_a_log_body_is_kept_with_its_type(database: Database) -> None:
    """Text, numbers and structures stay what they are."""
    bodies = [{"stringValue": "1"}, {"intValue": "1"}, {"kvlistValue": {"values": attributes({"a": 1})}}]
    write(
        database,
        logs(*({"timeUnixNano": str(time), "body": body} for time, body in enumerate(bodies, start=1))),
    )
    assert database.sql("SELECT body FROM logs ORDER BY time_ns")["body"].to_list() == ['"1"', "1", '{"a":1}']


HISTOGRAM = {"count": "3", "sum": 4.5, "min": 0.5, "explicitBounds": [1.0], "bucketCounts": ["1", "2"]}
EXPONENTIAL = {
    "count": "6", "scale": 2, "zeroCount": "1", "zeroThreshold": 0.25,
    "positive": {"offset": -1, "bucketCounts": ["2", "3"]}, "negative": {},
}  # fmt: skip
SUMMARY = {"count": "2", "sum": 3.0, "quantileValues": [{"quantile": 0.5, "value": 1.5}]}


def test_every_kind_of_metric_is_stored_once(database: Database) -> None:
    """Histograms of both kinds, summaries and exemplars keep their fields, and repeat without trace."""
    exemplar = {"timeUnixNano": "1", "asDouble": 0.5, "traceId": f"{7:032x}", "spanId": f"{8:016x}"}
    at = {"timeUnixNano": "1", "startTimeUnixNano": "0"}
    document = metrics(
        {
            "name": "h",
            "histogram": {
                "aggregationTemporality": 2,
                "dataPoints": [at | HISTOGRAM | {"exemplars": [exemplar]}],
            },
        },
        {
            "name": "e",
            "exponentialHistogram": {"aggregationTemporality": 1, "dataPoints": [at | EXPONENTIAL]},
        },
        {"name": "s", "summary": {"dataPoints": [at | SUMMARY]}},
    )
    assert write(database, document).metric_points == 3
    counts = write(database, document)
    assert (counts.metric_points, counts.duplicates) == (0, 3)
    histograms = database.sql(
        "SELECT count, sum, min, max, explicit_bounds, bucket_counts FROM metric_histograms ORDER BY count"
    )
    assert histograms.row(0) == (3, 4.5, 0.5, None, [1.0], [1, 2])
    exponential = database.sql(
        "SELECT scale, zero_count, zero_threshold, positive_offset, positive_counts "
        "FROM metric_histograms WHERE scale IS NOT NULL"
    )
    assert exponential.rows() == [(2, 1, 0.25, -1, [2, 3])]
    assert database.sql("SELECT quantiles, quantile_values FROM metric_summaries").rows() == [([0.5], [1.5])]
    assert database.sql("SELECT trace_id, span_id, value_double FROM exemplars").rows() == [
        (f"{7:032x}", f"{8:016x}", 0.5)
    ]
    temporality = database.sql("SELECT name, temporality FROM metric_streams ORDER BY name").rows()
    assert temporality == [("e", "DELTA"), ("h", "CUMULATIVE"), ("s", None)]


def test_a_resource_is_the_same_in_whatever_order_its_attributes_come(database: Database) -> None:
    """Senders do not promise an order; one process must not become two."""
    for order in (("service.name", "host.name"), ("host.name", "service.name")):
        sender = {"attributes": attributes({key: key for key in order})}
        write(
            database,
            {"resourceSpans": [{"resource": sender, "scopeSpans": [{"spans": [span(1, len(order[0]))]}]}]},
        )
    assert database.sql("SELECT resource_id, service_name, host_name FROM resources").rows() == [
        (1, "service.name", "host.name")
    ]


def test_the_job_of_a_resource_is_read_from_its_attributes(database: Database) -> None:
    """Rank and attempt count as numbers also when the sender wrote text; nonsense counts as unknown."""
    job = {"tracekit.job.id": "j", "tracekit.rank": "3", "tracekit.attempt": 1, "tracekit.world_size": "many"}
    write(database, traces(span(1, 1), **job))
    columns = "job_id, rank, attempt, world_size"
    assert database.sql(f"SELECT {columns} FROM resources").rows() == [("j", 3, 1, None)]


def test_an_ingest_keeps_its_counts_reasons_and_offsets(database: Database) -> None:
    """The store remembers what arrived, what was refused, and where."""
    writer = IngestWriter(database, source="file.jsonl", format="OTLP/JSON lines")
    first = batch(traces(span(1, 1)), traces(span(1, 1, name="other"), span(0, 2)))
    writer.write(replace(first, documents=documents_at([0, 500])))
    writer.write(replace(batch(traces(span(1, 1), span(1, 1, name="third"))), documents=documents_at([1000])))
    writer.finish()
    ingest = database.sql("SELECT source, format, spans, duplicates, rejected, error FROM ingests")
    assert ingest.rows() == [("file.jsonl", "OTLP/JSON lines", 1, 1, 3, None)]
    refused = database.sql("SELECT kind, reason, record_count, first_offset FROM ingest_rejects ORDER BY reason")
    assert ("rejected", "span_id_conflict", 2, 500) in refused.rows()
    assert ("rejected", "trace_id_invalid", 1) in [row[:3] for row in refused.rows()]


def test_an_ingest_that_never_ended_says_so(database: Database) -> None:
    """Whole batches are there, and the row tells that more was to come."""
    IngestWriter(database, source="file").write(batch(traces(span(1, 1))))
    assert database.sql("SELECT spans, error FROM ingests").rows()[0][0] == 1
    assert "did not finish" in database.sql("SELECT error FROM ingests").item()


def test_spans_of_a_service_and_of_a_trace_lie_together(database: Database) -> None:
    """Neighbours that are alike make the file small; within a trace the order of arrival stays."""
    write(
        database,
        traces(span(1, 1), span(2, 1), service="b"),
        traces(span(1, 2), span(2, 2), span(1, 3), service="a"),
        traces(span(1, 4), service="b"),
    )
    order = database.sql("SELECT service_name, trace_id[-1:], span_id[-1:] FROM spans")
    assert order.rows() == [
        ("a", "1", "2"),
        ("a", "1", "3"),
        ("a", "2", "2"),
        ("b", "1", "1"),
        ("b", "1", "4"),
        ("b", "2", "1"),
    ]


RECORDS = st.lists(
    st.one_of(
        st.builds(
            lambda trace, number, name, service: traces(
                span(trace, number, name=name, events=[{"timeUnixNano": "1", "name": name}]), service=service
            ),
            st.integers(1, 2), st.integers(1, 3), st.sampled_from("ab"), st.sampled_from("xy"),
        ),
        st.builds(
            lambda time, value, host: metrics(gauge("cpu", point(time, value, host=host))),
            st.integers(1, 2), st.integers(0, 1), st.sampled_from("ab"),
        ),
        st.builds(
            lambda body: logs({"timeUnixNano": "1", "body": {"stringValue": body}}), st.sampled_from("ab")
        ),
    ),
    max_size=14,
)  # fmt: skip


def contents(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """All records as values, whatever numbers the store gave to resources and series."""
    spans = "SELECT trace_id, span_id, name, service_name, start_ns, end_ns FROM spans ORDER BY ALL"
    events = "SELECT trace_id, span_id, name FROM span_events ORDER BY ALL"
    points = (
        "SELECT attributes::JSON::VARCHAR, time_ns, value_int "
        "FROM metric_points JOIN metric_streams USING (stream_id) ORDER BY ALL"
    )
    records = "SELECT time_ns, body::JSON::VARCHAR FROM logs ORDER BY ALL"
    return {name: database.sql(name).rows() for name in (spans, events, points, records)}


def written(parts: Sequence[Sequence[dict[str, Any]]]) -> tuple[dict[str, Any], tuple[int, ...]]:
    with Database.open(None) as database:
        counts = [write(database, *part) for part in parts]
        totals = [(each.spans, each.metric_points, each.logs, each.duplicates, each.rejected) for each in counts]
        return contents(database), tuple(map(sum, zip(*totals, strict=True)))


@settings(max_examples=15)
@given(RECORDS, st.lists(st.integers(0, 14), max_size=3))
def test_how_records_are_cut_into_batches_makes_no_difference(documents: list[dict[str, Any]], cuts: list[int]) -> None:
    """One batch or many: the same store, the same counts, and every record is accounted for."""
    bounds = [0, *sorted(min(cut, len(documents)) for cut in cuts), len(documents)]
    parts = [documents[start:end] for start, end in itertools.pairwise(bounds)]
    stored, counts = written([documents])
    assert written(parts) == (stored, counts)
    assert sum(counts) == len(documents)
