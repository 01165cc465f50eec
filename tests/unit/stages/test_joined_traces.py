"""One request over several traces is one unit, by the id that its spans name or by links, in any order of arrival."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, INTERNAL, SERVER, Span, store, times
from tracekit.stages import update_units
from tracekit.stages.trace_operations import operations
from tracekit.store import Database, prune

MS = 1_000_000
UNITS = (
    "SELECT trace_id, name, start_ns, end_ns, outcome, span_count, flags, list_sort(list((stage, operation, self_ns))) "
    "FROM units JOIN unit_stages USING (unit_id) GROUP BY ALL ORDER BY ALL"
)


def api(trace: int = 1, start: int = 0, end: int = 3000, **named: Any) -> Span:
    """A gateway's span that names a request."""
    attributes = {"http.route": "/v1/completions", "http.response.status_code": 200, "http.request.method": "POST"}
    attributes |= {key.replace("__", "."): value for key, value in named.items()}
    return Span(
        1000 * trace, start * MS, end * MS, "POST /v1/completions", trace=trace, kind=SERVER, service="api",
        attributes=attributes,
    )  # fmt: skip


def engine(trace: int, start: int = 30, end: int = 2930, **named: Any) -> Span:
    """An engine's span of a request, in a trace of its own."""
    attributes = {
        "gen_ai.latency.time_to_first_token": 0.26, "gen_ai.latency.e2e": (end - start) / 1000,
        "gen_ai.latency.time_in_queue": 0.05, "gen_ai.latency.time_in_model_prefill": 0.2,
        "gen_ai.usage.prompt_tokens": 512, "gen_ai.usage.completion_tokens": 64,
    }  # fmt: skip
    attributes |= {key.replace("__", "."): value for key, value in named.items()}
    return Span(
        1000 * trace, start * MS, end * MS, "llm_request", trace=trace, kind=SERVER, service="vllm",
        attributes=attributes,
    )  # fmt: skip


def units(database: Database) -> list[dict[str, Any]]:
    update_units(database)
    return database.sql("SELECT * FROM units ORDER BY start_ns, trace_id").to_dicts()


def flags(unit: dict[str, Any]) -> set[str]:
    return set((unit["flags"] or "").split(","))


NAMES = [
    ("gen_ai__request__id", "gen_ai__request__id", "chatcmpl-7f", "chatcmpl-7f"),
    ("x_request_id", "gen_ai__request__id", "7f", "chatcmpl-7f-0"),
    ("http__request__header__x-request-id", "request_id", ["7f"], "7f"),
    ("request_id", "request_id", 77, "77"),
    ("dynamo__request__id", "dynamo__request__id", "7F", "7f"),
    ("rid", "rid", "7f", "7f"),
]


@pytest.mark.parametrize(("outer_key", "inner_key", "outer_id", "inner_id"), NAMES)
def test_an_id_that_both_name_makes_two_traces_one(
    database: Database, outer_key: str, inner_key: str, outer_id: Any, inner_id: Any
) -> None:
    """Whatever the attribute, as text, number or list, and with what APIs put around it."""
    store(database, [api(**{outer_key: outer_id}), engine(2, **{inner_key: inner_id})])
    [unit] = units(database)
    assert (unit["name"], unit["e2e_ns"], unit["input_tokens"], unit["span_count"]) == (
        "POST /v1/completions", 3000 * MS, 512, 2,
    )  # fmt: skip
    assert "joined" in flags(unit)
    assert "ambiguous_join" not in flags(unit)
    if inner_key != "dynamo__request__id":
        assert {stage for _, stage, _ in times(database)} >= {"eng.queue", "eng.prefill"}


def of_a_request() -> list[Span]:
    """A gateway with a call, a router and an engine: four spans in three traces."""
    call = Span(1001, 10 * MS, 2990 * MS, "call", parent=1000, trace=1, kind=CLIENT, service="api")
    router = Span(2000, 15 * MS, 2980 * MS, "route", trace=2, kind=SERVER, service="router", attributes={"rid": "q"})
    return [api(rid="q"), call, router, engine(3, rid="q")]


def test_each_trace_hangs_in_the_innermost_span_that_holds_it(database: Database) -> None:
    store(database, of_a_request())
    [unit] = units(database)
    assert unit["span_count"] == 4
    hung = database.sql("SELECT trace_id, parent_span_id FROM joined_spans ORDER BY trace_id").rows()
    assert hung == [(f"{2:032x}", f"{1001:016x}"), (f"{3:032x}", f"{2000:016x}")]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_units_do_not_depend_on_the_order_of_arrival(database: Database, order: Sequence[int]) -> None:
    """Each span alone, with the units made in between, in any order: as all at once."""
    spans = of_a_request()
    for at in order:
        store(database, [spans[at]])
        update_units(database)
    apart = database.sql(UNITS).rows()
    hung = database.sql("FROM joined_spans ORDER BY ALL").rows()
    with Database.open(None) as other:
        store(other, spans)
        update_units(other)
        assert apart == other.sql(UNITS).rows()
        assert hung == other.sql("FROM joined_spans ORDER BY ALL").rows()


def test_a_request_that_is_shown_has_all_its_traces(database: Database) -> None:
    """Whichever of them is asked for; what they own covers the request."""
    store(database, of_a_request())
    update_units(database)
    for trace in (1, 2, 3):
        shown = operations(database, trace_id=f"{trace:032x}")
        owned = sum(part["end_ns"] - part["start_ns"] for row in shown["owned"] for part in row)
        assert owned == 3000 * MS


def test_two_candidates_are_one_request_and_ambiguous(database: Database) -> None:
    store(database, [api(rid="q"), engine(2, rid="q"), engine(3, 40, 2840, rid="q")])
    [unit] = units(database)
    assert {"joined", "ambiguous_join"} <= flags(unit)


@pytest.mark.parametrize("order", [(2, 3), (3, 2)])
def test_a_request_has_the_tokens_of_one_of_its_candidates(database: Database, order: tuple[int, int]) -> None:
    """The client was answered once, whichever engine did it: 512 and 64, not twice as many."""
    store(database, [api(rid="q"), *(engine(trace, 30 + trace, 2840, rid="q") for trace in order)])
    [unit] = units(database)
    assert (unit["input_tokens"], unit["output_tokens"]) == (512, 64)
    assert "ambiguous_join" in flags(unit)


def test_what_does_not_fit_in_time_is_not_joined(database: Database) -> None:
    """An engine that starts after the gateway has answered serves another request of the same name."""
    store(database, [api(rid="q"), engine(2, rid="q"), engine(3, 9000, 9900, rid="q")])
    assert [unit["span_count"] for unit in units(database)] == [2, 1]
    assert all("shared_request_id" in flags(unit) for unit in units(database))


def test_an_engine_that_goes_on_after_the_gateway_gave_up_is_part_of_the_request(database: Database) -> None:
    store(database, [api(end=1000, rid="q"), engine(2, rid="q")])
    [unit] = units(database)
    assert unit["e2e_ns"] == 1000 * MS or unit["last_token_ns"] is not None
    assert unit["span_count"] == 2


@pytest.mark.parametrize("name", ["", "unknown", "None", "0", "00000000-0000-0000-0000-000000000000", "-"])
def test_what_names_no_request_joins_nothing(database: Database, name: str) -> None:
    store(database, [api(rid=name), engine(2, rid=name)])
    assert [unit["span_count"] for unit in units(database)] == [1, 1]


def beside_each_other(count: int, **named: Any) -> list[Span]:
    """Requests that run at the same time, each with an engine's trace."""
    return [
        span
        for number in range(count)
        for span in (
            api(10 * number + 1, 10 * number, 3000 + 10 * number, **named),
            engine(10 * number + 2, 30 + 10 * number, 2930 + 10 * number, **named),
        )
    ]


@pytest.mark.parametrize("count", [2, 20, 40])
def test_an_id_of_all_requests_joins_none(database: Database, count: int) -> None:
    """And is told: a constant, or the id of a session."""
    store(database, beside_each_other(count, request_id="pod-1"))
    found = units(database)
    assert [unit["span_count"] for unit in found] == [1] * (2 * count)
    assert all("shared_request_id" in flags(unit) for unit in found)


def test_a_name_of_a_crowd_is_remembered_until_something_is_pruned(database: Database) -> None:
    """It is not looked up in each update; once traces are gone, it may name a request again."""
    store(database, beside_each_other(40, request_id="pod-1"))
    update_units(database)
    assert database.crowded_request_ids == set()
    for trace in (900, 901):
        store(database, [api(trace, request_id="pod-1")])
        found = {unit["trace_id"]: flags(unit) for unit in units(database)}
        assert "shared_request_id" in found[f"{trace:032x}"]
        assert database.crowded_request_ids == {"pod-1"}
    prune(database, before_ns=1)
    assert database.crowded_request_ids == set()


def test_an_id_that_comes_again_hours_later_is_another_request(database: Database) -> None:
    hours = 3_600_000
    again = [api(3, hours, hours + 3000, rid="q"), engine(4, hours + 30, hours + 2930, rid="q")]
    store(database, [api(rid="q"), engine(2, rid="q"), *again])
    assert [(unit["span_count"], unit["e2e_ns"]) for unit in units(database)] == [(2, 3000 * MS)] * 2


def _in_turn(database: Database, parts: Iterable[list[Span]]) -> list[Any]:
    for part in parts:
        store(database, part)
        update_units(database)
    return database.sql(UNITS).rows()


def test_a_name_that_too_many_come_to_have_joins_none_of_the_first_either(database: Database) -> None:
    """One behind the other, so that each would fit by itself: as all at once."""
    spans = [
        [api(2 * number + 1, 5000 * number, 5000 * number + 3000, rid="q"),
         engine(2 * number + 2, 5000 * number + 30, 5000 * number + 2930, rid="q")]
        for number in range(40)
    ]  # fmt: skip
    apart = _in_turn(database, [spans[0], spans[1], *(spans[at] + spans[at + 1] for at in range(2, 40, 2))])
    assert {row[5] for row in apart} == {1}
    with Database.open(None) as other:
        assert apart == _in_turn(other, [[span for pair in spans for span in pair]])


def test_agents_with_several_calls_have_each_in_its_place(database: Database) -> None:
    """Calls that run at the same time name different requests: each engine is below its own."""
    calls = [
        Span(10 + number, number * MS, (900 + number) * MS, "chat", parent=1, kind=CLIENT, service="agent",
             attributes={"x_request_id": f"q{number}", "gen_ai.operation.name": "chat"})
        for number in range(3)
    ]  # fmt: skip
    agent = Span(1, 0, 1000 * MS, "agent", service="agent", kind=INTERNAL)
    engines = [engine(2 + number, 20 + number, 800 + number, request_id=f"q{number}") for number in range(3)]
    store(database, [agent, *calls, *engines])
    [unit] = units(database)
    assert unit["span_count"] == 7
    hung = database.sql("SELECT trace_id, parent_span_id FROM joined_spans ORDER BY trace_id").rows()
    assert hung == [(f"{2 + number:032x}", f"{10 + number:016x}") for number in range(3)]


def link(database: Database, owner: Span, linked: Span) -> None:
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO base.span_links SELECT trace_id, span_id, 0, $trace::UUID, $span, NULL, 0, NULL, 0, ingest_id "
            "FROM base.spans WHERE trace_id = $own::UUID AND span_id = $own_span",
            {"trace": f"{linked.trace:032x}", "span": linked.id, "own": f"{owner.trace:032x}", "own_span": owner.id},
        )


def test_a_root_that_is_linked_to_the_call_it_serves_is_part_of_it(database: Database) -> None:
    """As servers at a border of trust begin a trace of their own."""
    front, server = api(), engine(2)
    store(database, [front, server])
    link(database, server, front)
    [unit] = units(database)
    assert unit["span_count"] == 2


def test_a_batch_that_is_linked_to_many_requests_is_part_of_none(database: Database) -> None:
    """In both directions."""
    fronts = [api(1 + number, number, 3000 + number) for number in range(3)]
    batch = Span(9000, 50 * MS, 2000 * MS, "batch", trace=9, service="engine")
    store(database, [*fronts, batch])
    for front in fronts:
        link(database, batch, front)
    store(database, [replace(batch, trace=11, id=9100, start=0, end=4000 * MS)])
    for front in fronts:
        link(database, front, replace(batch, trace=11, id=9100))
    assert [unit["span_count"] for unit in units(database)] == [1] * 5
