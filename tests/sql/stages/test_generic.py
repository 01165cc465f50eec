"""Any other traces: service and operation as stage, and the way between two services as one of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.stored import CLIENT, CONSUMER, ERROR, PRODUCER, SERVER, Span, request, store, times
from tracekit.store import Database

CALL = [
    Span(1, 0, 100, "GET /cart", kind=SERVER, service="shop"),
    Span(2, 10, 90, "cart.Get", parent=1, kind=CLIENT, service="shop"),
    Span(3, 30, 80, "cart.Get", parent=2, kind=SERVER, service="cart"),
]


def test_stage_is_service_and_operation(database: Database) -> None:
    """Every nanosecond belongs to the span that owns it, named by its service and name."""
    store(database, [Span(1, 0, 100, "job", service="a"), Span(2, 20, 50, "read", parent=1, service="a")])
    assert times(database) == {("e2e", "a:job", "job"): 70, ("e2e", "a:read", "read"): 30}


def test_the_time_around_a_remote_span_is_the_edge_between_the_services(database: Database) -> None:
    """The self time of a client span with one remote child is neither the caller's nor the callee's."""
    store(database, CALL)
    assert times(database) == {
        ("e2e", "shop:GET /cart", "GET /cart"): 20,
        ("e2e", "edge:shop->cart", "cart.Get"): 30,
        ("e2e", "cart:cart.Get", "cart.Get"): 50,
    }


@pytest.mark.parametrize(
    "also",
    [
        replace(CALL[2], id=4, service="stock"),
        replace(CALL[2], id=4, start=31, end=79),
    ],
)
def test_a_client_span_with_several_remote_spans_is_no_edge(database: Database, also: Span) -> None:
    """With two callees the transport to either cannot be told."""
    store(database, [*CALL, also])
    assert ("e2e", "shop:cart.Get", "cart.Get") in times(database)


def test_a_client_span_without_remote_span_is_an_ordinary_operation(database: Database) -> None:
    """Nothing says whom it called."""
    store(database, CALL[:2])
    assert times(database)["e2e", "shop:cart.Get", "cart.Get"] == 80


def test_spans_without_service_name_belong_to_unknown(database: Database) -> None:
    """As OpenTelemetry's own default says."""
    store(database, [Span(1, 0, 100, "work", service=None)])
    assert times(database) == {("e2e", "unknown:work", "work"): 100}
    assert request(database)["service_name"] is None


def test_time_of_a_parent_that_did_not_arrive_is_unattributed(database: Database) -> None:
    """Orphans hang on a node for their missing parent; what it owns beside them explains nothing."""
    root = Span(1, 0, 100, "job")
    store(database, [root, Span(3, 20, 40, "a", parent=2), Span(4, 60, 80, "b", parent=2)])
    assert times(database) == {
        ("e2e", "service:job", "job"): 40,
        ("e2e", "service:a", "a"): 20,
        ("e2e", "service:b", "b"): 20,
        ("e2e", "unattributed", "<missing>"): 20,
    }
    unit = request(database)
    assert (unit["orphan_count"], unit["orphan_ns"]) == (2, 60)


def test_a_consumer_does_not_hold_up_its_producer(database: Database) -> None:
    """Handing over a message is not waiting for its processing, which is a request of its own."""
    producer = Span(2, 10, 20, "send", parent=1, kind=PRODUCER)
    store(database, [Span(1, 0, 100, "job"), producer, Span(3, 15, 90, "process", parent=2, kind=CONSUMER)])
    assert times(database) == {
        ("e2e", "service:job", "job"): 90,
        ("e2e", "service:send", "send"): 10,
        ("e2e", "service:process", "process"): 75,
    }
    assert database.sql("SELECT name FROM units ORDER BY start_ns")["name"].to_list() == ["job", "process"]


def test_work_that_says_it_is_asynchronous_is_no_part_of_the_request(database: Database) -> None:
    """`tracekit.async` takes a subtree out of its parent's time."""
    store(
        database,
        [Span(1, 0, 100, "job"), Span(2, 10, 90, "log", parent=1, attributes={"tracekit.async": True})],
    )
    assert times(database) == {("e2e", "service:job", "job"): 100}


def test_an_explicit_wait_beats_the_timing(database: Database) -> None:
    """foo3 waited for foo1, whatever foo2 did meanwhile (jaeger-ui#2371)."""
    gather = [
        Span(1, 0, 500, "main"),
        Span(2, 0, 100, "foo1", parent=1),
        Span(3, 0, 200, "foo2", parent=1),
        Span(4, 200, 500, "foo3", parent=1, waits_for=2),
    ]
    store(database, gather)
    assert times(database) == {
        ("e2e", "service:foo3", "foo3"): 300,
        ("e2e", "service:main", "main"): 100,
        ("e2e", "service:foo1", "foo1"): 100,
    }


@pytest.mark.parametrize(
    ("status", "attributes", "outcome"),
    [
        (0, {}, "ok"),
        (ERROR, {}, "failed"),
        (0, {"http.response.status_code": 200}, "ok"),
        (0, {"http.status_code": 302}, "ok"),
        (ERROR, {"http.response.status_code": 499}, "aborted"),
        (ERROR, {"error.type": "asyncio.CancelledError"}, "aborted"),
        (0, {"http.response.status_code": "429"}, "rejected"),
        (ERROR, {"http.response.status_code": 503}, "rejected"),
        (0, {"http.response.status_code": 404}, "invalid"),
        (0, {"http.response.status_code": 500}, "failed"),
        (ERROR, {"rpc.grpc.status_code": 1}, "aborted"),
        (ERROR, {"rpc.grpc.status_code": 8}, "rejected"),
        (ERROR, {"rpc.grpc.status_code": 3}, "invalid"),
        (ERROR, {"rpc.grpc.status_code": 13}, "failed"),
        (0, {"rpc.grpc.status_code": 0}, "ok"),
    ],
)
def test_the_root_tells_how_a_request_ended(
    database: Database, status: int, attributes: dict[str, object], outcome: str
) -> None:
    """HTTP status, gRPC status, then the span's own status."""
    store(database, [Span(1, 0, 100, status=status, attributes=attributes)])
    assert request(database)["outcome"] == outcome


def test_a_handled_error_below_the_root_does_not_fail_the_request(database: Database) -> None:
    """Only the root tells how the request ended."""
    store(database, [Span(1, 0, 100), Span(2, 10, 20, parent=1, status=ERROR)])
    assert request(database)["outcome"] == "ok"
