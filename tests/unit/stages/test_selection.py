"""How attributes are read, batches cut and clocks doubted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.unit.stages.stored import CLIENT, SERVER, Span, request, store
from tracekit import queries
from tracekit.errors import UsageError
from tracekit.stages import update_units
from tracekit.stages.mapping import EXPORTERS, STEP_EXPORTERS
from tracekit.store import Database

_READ_FROM_BATCHES = ("batch_calls", "span_outcomes", "batch_async", "step_spans")


def test_the_attributes_of_a_batch_are_all_that_mappings_read(database: Database) -> None:
    """A mapping that reads a field which nobody declared would not run; one that nobody reads costs time."""
    read = [*queries.names("stages"), *(f"units/{name}" for name in _READ_FROM_BATCHES)]
    used = {key for name in read for key in re.findall(r"attributes\['([^']+)'\]", queries.text(name))}
    used |= set(re.findall(r"^    '([^']+)',?$", queries.text("units/request_id_keys"), re.MULTILINE))
    declared = database.sql(queries.text("units/mapped_attributes"))["key"].to_list()
    assert declared == sorted(used)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_every_mapping_runs_on_an_empty_store(database: Database, exporter: str) -> None:
    """No spans, no rows, no error."""
    assert f"stages/{exporter}" in queries.names("stages")
    assert update_units(database).built_through is None


def test_mappings_are_all_that_lies_in_their_folder() -> None:
    """One file an exporter: what else makes units lies beside, in `queries/units`."""
    assert {name.removeprefix("stages/") for name in queries.names("stages")} == {*EXPORTERS, *STEP_EXPORTERS}


def test_batches_smaller_than_a_trace_are_refused(database: Database) -> None:
    """The number of traces in memory is at least one."""
    with pytest.raises(UsageError, match="give at least 1"):
        update_units(database, batch_traces=0)


def call(server_start: int, server_end: int, *, host: str | None = "b") -> list[Span]:
    return [
        Span(1, 0, 100, "root", service="a", host="a"),
        Span(2, 10, 90, "call", parent=1, kind=CLIENT, service="a", host="a"),
        Span(3, server_start, server_end, "serve", parent=2, kind=SERVER, service="b", host=host),
    ]


@pytest.mark.parametrize(
    ("server_start", "server_end", "shift"),
    [(20, 80, 0), (0, 50, 10), (40, 95, 5), (-500, -450, 510)],
)
def test_a_clock_is_corrected_only_where_a_call_shows_it(
    database: Database, server_start: int, server_end: int, shift: int
) -> None:
    """By the smallest shift that puts the server inside the time that its client waits."""
    store(database, call(server_start, server_end))
    unit = request(database)
    assert (unit["shift_ns"], unit["outside_count"]) == (shift, 0)


def test_the_clock_of_one_host_is_left_alone(database: Database) -> None:
    """What lies outside its parent there is cut and counted."""
    store(database, call(-500, -450, host="a"))
    unit = request(database)
    assert (unit["shift_ns"], unit["outside_count"], unit["outside_ns"]) == (0, 1, 50)


def test_another_service_of_unknown_host_has_another_clock(database: Database) -> None:
    """Resources as SDKs make them name no host."""
    spans = [replace(span, host=None) for span in call(7, 25)]
    store(database, spans)
    assert request(database)["shift_ns"] == 3


def test_what_one_trace_shows_of_a_clock_does_not_touch_another(database: Database) -> None:
    """Traces are independent: else the result would depend on which of them share a batch."""
    store(database, [*call(0, 50), *(Span(**(vars(each) | {"trace": 2})) for each in call(20, 80))])
    assert request(database, trace=1)["shift_ns"] == 10
    assert request(database, trace=2)["shift_ns"] == 0


def test_defects_of_a_trace_are_counted_and_named(database: Database) -> None:
    """Nothing is dropped in silence."""
    store(
        database,
        [
            Span(1, 0, 100, "root"),
            Span(2, 50, 40, "backwards", parent=1),
            Span(3, 90, 120, "late", parent=1),
            Span(4, 10, 20, "other root"),
            Span(5, 10, 20, "cycle", parent=6),
            Span(6, 10, 20, "cycle", parent=5),
        ],
    )
    unit = request(database)
    assert unit["flags"] == "extra_roots,cycles,negative_durations"
    assert (unit["span_count"], unit["post_root_ns"]) == (6, 20)


def test_a_trace_of_orphans_only_is_a_request_that_says_so(database: Database) -> None:
    """The earliest orphan stands in for the root."""
    store(database, [Span(2, 0, 100, parent=1), Span(3, 10, 20, parent=2)])
    unit = request(database)
    assert (unit["root_span_id"], unit["e2e_ns"], unit["flags"]) == (f"{2:016x}", 100, "root_parent_missing")


def test_span_ids_beyond_63_bits_find_their_children(database: Database) -> None:
    """Ids are unsigned: half of all random ids have the highest bit set."""
    high = 2**64 - 1
    store(database, [Span(high, 0, 100), Span(1, 10, 20, parent=high), Span(2**63, 30, 40, parent=high)])
    assert request(database)["orphan_count"] == 0


def test_a_large_trace_is_one_request(database: Database) -> None:
    """A thousand spans under one root, found by binary search after a sort of their own."""
    children = [Span(id, id, id + 1, parent=1) for id in range(2, 1002)]
    store(database, [Span(1, 0, 2000), *children[::-1]])
    unit = request(database)
    assert (unit["span_count"], unit["orphan_count"], unit["flags"]) == (1001, 0, None)


@pytest.mark.parametrize("sender_count", [1, 2, 5, 12])
def test_each_sender_is_read_with_the_attributes_that_it_has(database: Database, sender_count: int) -> None:
    """Senders with other keys, or with none at all, change nothing in what is read of a sender."""
    said = {"gen_ai.usage.prompt_tokens": 7, "gen_ai.request.model": "m", "gen_ai.latency.e2e": 1e-6}
    keys = [[key for bit, key in enumerate(said) if number >> bit & 1] for number in range(8)]
    senders = [keys[number % 8] for number in range(sender_count)]
    store(
        database,
        [
            Span(1, 0, 1000, "llm_request", trace=number + 1, service=f"s{number}",
                 attributes={"of": number} | {key: said[key] for key in own} if number else {})
            for number, own in enumerate(senders)
        ],
    )  # fmt: skip
    update_units(database)
    units = database.sql("SELECT input_tokens, model FROM units ORDER BY trace_id").rows()
    prompt, model = "gen_ai.usage.prompt_tokens", "gen_ai.request.model"
    assert units == [(7 if prompt in own else None, "m" if model in own else None) for own in senders]
