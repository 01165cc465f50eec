"""Units do not depend on the order, the portions or the batches in which spans arrive."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.stages.stored import CLIENT, CONSUMER, ERROR, INTERNAL, PRODUCER, SERVER, Span, store
from tracekit.stages import update_units
from tracekit.store import Database

NATURAL_KEY = "kind, trace_id, root_span_id, job_id, attempt, step, rank"
STORED = {
    "units": "SELECT * EXCLUDE (unit_id, attributes), attributes::JSON FROM base.units",
    "stages": f"SELECT {NATURAL_KEY}, unit_stages.* EXCLUDE (unit_id) "
    "FROM base.units JOIN base.unit_stages USING (unit_id)",
    "waits": f"SELECT {NATURAL_KEY}, step_waits.* EXCLUDE (unit_id) "
    "FROM base.units JOIN base.step_waits USING (unit_id)",
    "lead_ins": f"SELECT {NATURAL_KEY}, step_lead_ins.* EXCLUDE (unit_id) "
    "FROM base.units JOIN base.step_lead_ins USING (unit_id)",
    "collectives": f"SELECT {NATURAL_KEY}, step_collectives.* EXCLUDE (unit_id) "
    "FROM base.units JOIN base.step_collectives USING (unit_id)",
}

GENAI = {"gen_ai.operation.name": "chat", "gen_ai.response.time_to_first_chunk": 2e-8}
ENGINE = {
    "gen_ai.latency.time_to_first_token": 2e-8,
    "gen_ai.latency.e2e": 4e-8,
    "gen_ai.latency.time_in_model_prefill": 1e-8,
    "gen_ai.latency.time_in_model_decode": 1e-8,
    "gen_ai.usage.completion_tokens": 3,
}
KINDS = [
    {},
    {"kind": SERVER, "attributes": {"http.request.method": "GET", "url.path": "/v1/completions"}},
    {"kind": CLIENT, "attributes": GENAI},
    {"kind": SERVER, "name": "llm_request", "attributes": ENGINE},
    {"kind": PRODUCER},
    {"kind": CONSUMER},
    {"attributes": {"tracekit.async": True}},
    {"attributes": {"tracekit.stage": "gw.auth"}},
    {"kind": CLIENT, "status": ERROR},
    {"name": "Load model", "scope": "vllm.worker"},
]


def spans_of_requests() -> st.SearchStrategy[list[Span]]:
    """Dirty traces: absent parents, cycles, several roots, ends before starts, failures, start-up."""
    span = st.builds(
        lambda trace, id, parent, start, length, service, host, shape: Span(
            id, start, start + length, parent=parent, trace=trace, service=service, host=host, **shape
        ),
        st.integers(1, 3),
        st.integers(1, 8),
        st.integers(0, 9),
        st.integers(0, 60),
        st.integers(-2, 60),
        st.sampled_from(["a", "b"]),
        st.sampled_from([None, "h", "k"]),
        st.sampled_from(KINDS),
    )
    return st.lists(span, min_size=1, max_size=20, unique_by=lambda each: (each.trace, each.id))


def spans_of_training() -> st.SearchStrategy[list[Span]]:
    """Steps of up to three ranks in one trace, some spans without a step of their own."""

    def built(id: int, rank: int, step: int | None, stage: str, start: int, length: int, parent: int, seq: int) -> Span:
        attributes: dict[str, Any] = {"tracekit.stage": stage, "tracekit.collective.seq": seq}
        attributes |= {} if step is None else {"tracekit.step": step}
        return Span(
            id,
            start,
            start + length,
            stage,
            parent=parent,
            kind=INTERNAL,
            job="j",
            attempt=0,
            rank=rank,
            world=3,
            attributes=attributes,
        )

    stages = ["step", "step", "forward", "data_load", "collective", "collective", "checkpoint_save", "init"]
    span = st.builds(
        built,
        st.integers(1, 30),
        st.integers(0, 2),
        st.sampled_from([None, 1, 1, 2]),
        st.sampled_from(stages),
        st.integers(0, 50),
        st.integers(-1, 50),
        st.integers(0, 30),
        st.integers(1, 2),
    )
    return st.lists(span, min_size=1, max_size=24, unique_by=lambda each: each.id)


def contents(database: Database) -> dict[str, Counter[str]]:
    """Everything that was computed, without the numbers of the units."""
    return {
        name: Counter(json.dumps(row, default=str) for row in database.sql(statement).rows())
        for name, statement in STORED.items()
    }


def in_portions(portions: list[list[Span]], *, batch_traces: int = 50_000) -> dict[str, Counter[str]]:
    """What is computed when the portions arrive one after the other."""
    with Database.open(None) as database:
        for portion in portions:
            store(database, portion)
            update_units(database, batch_traces=batch_traces)
        assert_sums_are_exact(database)
        return contents(database)


def assert_sums_are_exact(database: Database) -> None:
    """Both rules sum to each window of each unit, no part is negative, waits sum to the waiting."""
    wrong = database.sql("""
        WITH windows AS (
            SELECT
                unit_id,
                unnest(['ttft', 'decode', 'after', 'e2e', 'step']) AS "window",
                unnest([
                    ttft_ns,
                    coalesce(last_token_ns, end_ns) - first_token_ns,
                    CASE WHEN first_token_ns IS NOT NULL THEN end_ns - coalesce(last_token_ns, end_ns) END,
                    CASE WHEN kind = 'request' AND first_token_ns IS NULL THEN e2e_ns END,
                    CASE WHEN kind = 'step' THEN e2e_ns END
                ]) AS window_ns
            FROM units
        ), sums AS (
            SELECT unit_id, "window", sum(self_ns) AS self_ns, sum(alternative_ns) AS alternative_ns
            FROM unit_stages
            GROUP BY ALL
        )
        SELECT *
        FROM windows FULL JOIN sums USING (unit_id, "window")
        WHERE coalesce(window_ns, 0) != coalesce(self_ns, 0)
            OR coalesce(window_ns, 0) != coalesce(alternative_ns, 0)
    """)
    assert wrong.rows() == []
    assert database.sql("SELECT count(*) FROM unit_stages WHERE self_ns < 0 OR alternative_ns < 0").item() == 0
    unequal = database.sql("""
        SELECT * FROM (
            SELECT unit_id, sum(wait_ns) AS ns FROM step_waits WHERE basis = 'collective' GROUP BY unit_id
        ) AS split
        FULL JOIN (
            SELECT unit_id, sum(self_ns) AS ns
            FROM unit_stages
            WHERE stage = 'step.straggler_wait'
            GROUP BY unit_id
            HAVING sum(self_ns) > 0
        ) AS waited USING (unit_id)
        WHERE split.ns IS DISTINCT FROM waited.ns
    """)
    assert unequal.rows() == []


def cut(spans: list[Span], data: st.DataObject) -> list[list[Span]]:
    """The spans in another order and in a few portions."""
    shuffled = data.draw(st.permutations(spans), label="order")
    cuts = sorted(data.draw(st.lists(st.integers(1, len(spans)), max_size=3), label="cuts"))
    bounds = [0, *cuts, len(spans)]
    return [portion for low, high in pairwise(bounds) if (portion := shuffled[low:high])]


@settings(max_examples=20)
@given(spans_of_requests(), st.data())
def test_requests_are_the_same_whatever_the_order_and_portions(spans: list[Span], data: st.DataObject) -> None:
    """Late parents, late roots and late engines change what was built before."""
    portions = cut(spans, data)
    batch_traces = data.draw(st.sampled_from([1, 50_000]), label="batch_traces")
    assert in_portions(portions, batch_traces=batch_traces) == in_portions([spans])


def test_a_request_that_streams_past_its_root_leaves_others_of_its_batch_as_they_are() -> None:
    """The time of one root is made longer; what is wrong with that of another is still seen."""
    backwards = Span(1, 0, -1, trace=1)
    streaming = [Span(1, 0, 1, trace=2), Span(2, 0, 20, parent=1, trace=2, kind=CLIENT, attributes=GENAI)]
    assert in_portions([[backwards, *streaming]]) == in_portions([[backwards], streaming])


@settings(max_examples=20)
@given(spans_of_training(), st.data())
def test_steps_are_the_same_whatever_the_order_and_portions(spans: list[Span], data: st.DataObject) -> None:
    """Late ranks, late step spans and late parents change what was built before."""
    portions = cut(spans, data)
    batch_traces = data.draw(st.sampled_from([1, 50_000]), label="batch_traces")
    assert in_portions(portions, batch_traces=batch_traces) == in_portions([spans])


def test_a_late_span_replaces_the_units_of_its_own_key_and_of_the_step_after_it() -> None:
    """One request and one step of one rank: all other units keep their numbers."""
    requests = [Span(1, 0, 100, trace=trace) for trace in range(1, 5)]
    steps = [
        Span(
            step,
            0,
            100,
            trace=9,
            job="j",
            rank=0,
            attributes={"tracekit.stage": "step", "tracekit.step": step},
        )
        for step in range(1, 5)
    ]
    with Database.open(None) as database:
        store(database, [*requests, *steps])
        assert update_units(database).replaced == 0
        before = set(database.sql("SELECT unit_id FROM units").to_series())
        late = {"tracekit.stage": "forward", "tracekit.step": 3}
        store(
            database,
            [Span(2, 10, 20, parent=1, trace=3), Span(8, 10, 20, trace=9, job="j", rank=0, attributes=late)],
        )
        update = update_units(database)
        assert (update.requests, update.steps, update.replaced) == (1, 2, 3)
        kept = before & set(database.sql("SELECT unit_id FROM units").to_series())
        assert len(kept) == 5
        assert_sums_are_exact(database)


def test_nothing_new_changes_nothing() -> None:
    """A second call has nothing to do, and says so."""
    with Database.open(None) as database:
        assert update_units(database).built_through is None
        store(database, [Span(1, 0, 100)])
        update_units(database)
        again = update_units(database)
        assert (again.built_through, again.requests, again.replaced) == (1, 0, 0)


def test_a_trace_that_turns_out_to_be_training_is_no_request_any_more() -> None:
    """The request made of its first spans goes when a training process joins."""
    with Database.open(None) as database:
        store(database, [Span(1, 0, 100)])
        assert update_units(database).requests == 1
        attributes = {"tracekit.stage": "step", "tracekit.step": 1}
        store(database, [Span(2, 0, 50, parent=1, job="j", rank=0, attributes=attributes)])
        update_units(database)
        assert database.sql("SELECT kind FROM units").to_series().to_list() == ["step"]
