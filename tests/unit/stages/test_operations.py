"""The operations of one trace: what owns which time, and what that rests on."""

from __future__ import annotations

import polars as pl
import pytest

from tests.unit.stages.stored import CLIENT, SERVER, Span, store
from tracekit.errors import UsageError
from tracekit.stages import operations
from tracekit.store import Database

TRACE = f"{1:032x}"


def owned(shown: pl.DataFrame) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Owned intervals by operation and stage, of those that own any."""
    return {
        (row["operation"], row["stage"]): [(each["start_ns"], each["end_ns"]) for each in row["owned"]]
        for row in shown.iter_rows(named=True)
        if row["owned"]
    }


def test_each_span_has_the_time_that_no_span_below_it_owns(database: Database) -> None:
    """The intervals of a trace are disjoint and cover its root."""
    store(database, [Span(1, 0, 100, "job"), Span(2, 20, 50, "read", parent=1)])
    shown = operations(database, trace_id=TRACE)
    assert owned(shown) == {
        ("job", "service:job"): [(0, 20), (50, 100)],
        ("read", "service:read"): [(20, 50)],
    }
    assert shown.select("span_id", "parent_span_id", "owner", "source", "quality").rows() == [
        (f"{1:016x}", None, "application", "span", "observed"),
        (f"{2:016x}", f"{1:016x}", "application", "span", "observed"),
    ]


def test_an_operation_without_span_lies_in_the_span_that_tells_of_it(database: Database) -> None:
    """It has no span id of its own, and says what it rests on."""
    store(
        database,
        [
            Span(1, 0, 100, "call", kind=CLIENT, service="a", attributes={"gen_ai.operation.name": "chat"}),
            Span(2, 30, 80, "llm_request", parent=1, kind=SERVER, service="b"),
        ],
    )
    shown = operations(database, trace_id=TRACE).filter(pl.col("span_id").is_null())
    assert shown.select("parent_span_id", "operation", "stage", "owner", "start_ns", "end_ns").rows() == [
        (f"{1:016x}", "edge:a->b", "net.dispatch", "platform", 0, 30),
        (f"{1:016x}", "call/stream", "out.stream", "platform", 80, 100),
    ]
    assert set(shown.select("source", "quality").rows()) == {("gap", "derived")}


def test_a_parent_that_did_not_arrive_is_shown_in_its_place(database: Database) -> None:
    """Orphans hang on a row with the id they name, so that no tree falls apart."""
    store(database, [Span(1, 0, 100, "job"), Span(3, 20, 40, "a", parent=2), Span(4, 60, 80, "b", parent=2)])
    [missing] = operations(database, trace_id=TRACE).filter(operation="<missing>").rows(named=True)
    assert (missing["span_id"], missing["parent_span_id"]) == (f"{2:016x}", f"{1:016x}")
    assert (missing["start_ns"], missing["end_ns"], missing["stage"]) == (20, 80, "unattributed")
    assert [each["start_ns"] for each in missing["owned"]] == [40]


def test_a_value_that_was_not_used_marks_its_span(database: Database) -> None:
    """A conflict is visible where it is, not only as a count."""
    values = {"gen_ai.latency.time_to_first_token": 5e-8, "gen_ai.latency.time_in_queue": -3.0}
    store(database, [Span(1, 0, 100, "llm_request", kind=SERVER, attributes=values)])
    assert operations(database, trace_id=TRACE)["quality"].to_list() == ["conflict"]


def test_waiting_in_a_collective_is_an_operation_of_its_own(database: Database) -> None:
    """A training trace shows what each rank owns under the rule of its steps, other ranks considered."""

    def part(id: int, start: int, end: int, stage: str, *, rank: int, trace: int = 1) -> Span:
        attributes = {"tracekit.stage": stage, "tracekit.step": 1, "tracekit.collective.seq": 1}
        parent = 0 if stage == "step" else 10 + rank
        return Span(id, start, end, stage, parent=parent, trace=trace, job="j", rank=rank, attributes=attributes)

    mine = [part(10, 0, 100, "step", rank=0), part(1, 20, 80, "collective", rank=0)]
    store(
        database,
        [*mine, part(11, 0, 100, "step", rank=1, trace=2), part(2, 60, 80, "collective", rank=1, trace=2)],
    )
    shown = operations(database, trace_id=TRACE)
    assert owned(shown) == {
        ("step", "unattributed"): [(0, 20), (80, 100)],
        ("collective", "step.straggler_wait"): [(20, 60)],
        ("collective", "step.exposed_comm"): [(60, 80)],
    }
    assert shown.filter(stage="step.straggler_wait")["span_id"].to_list() == [None]


def test_a_trace_that_is_not_there_has_no_operations(database: Database) -> None:
    """The columns are there all the same."""
    store(database, [Span(1, 0, 100)])
    shown = operations(database, trace_id=f"{2:032x}")
    assert (shown.height, shown.columns[:3]) == (0, ["span_id", "parent_span_id", "operation"])


@pytest.mark.parametrize("trace_id", ["", "1", "G" * 32, "A" * 32, "'; DROP TABLE base.spans; --"])
def test_what_is_no_trace_id_is_refused(database: Database, trace_id: str) -> None:
    """With a message that says what one looks like."""
    with pytest.raises(UsageError, match="32 lower-case hexadecimal digits"):
        operations(database, trace_id=trace_id)


def test_looking_at_a_trace_changes_nothing(database: Database) -> None:
    """Neither the units nor what is still to be built."""
    store(database, [Span(1, 0, 100)])
    operations(database, trace_id=TRACE)
    assert database.sql("SELECT count(*) FROM base.units").item() == 0
    assert database.sql("SELECT count(*) FROM base.built_through").item() == 0


def test_a_store_that_is_open_for_reading_shows_operations(tmp_path: object) -> None:
    """Nothing is written to the file."""
    path = f"{tmp_path}/traces.duckdb"
    with Database.open(path) as writable:
        store(writable, [Span(1, 0, 100)])
    with Database.open(path, read_only=True) as readable:
        assert operations(readable, trace_id=TRACE).height == 1
