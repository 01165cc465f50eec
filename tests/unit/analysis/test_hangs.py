"""Hung jobs: who is to blame, by which rule, and who only waited."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analysis.hung_jobs import Call, Dumps, hung_job, mesh
from tracekit.analysis.jobs.hang_incidents import hangs_apart
from tracekit.analysis.jobs.hangs import Hang, explain_hang
from tracekit.importers.flight_recorder import ENTRY_SCHEMA, GROUP_SCHEMA

sizes = st.tuples(st.integers(2, 4), st.integers(2, 4))


def explained(dumps: Dumps) -> Hang:
    return explain_hang(dumps.groups, dumps.entries, dumped=dumps.dumped)


def culprits(hang: Hang) -> set[int]:
    return set(hang.culprits["rank"])


@given(sizes, st.data())
def test_a_host_that_stops_is_found_in_any_mesh(size: tuple[int, int], data: st.DataObject) -> None:
    """Wherever in its program it stopped, with completed collectives in the dumps or without."""
    tensor, parallel = size
    rank, at = data.draw(st.integers(0, tensor * parallel - 1)), data.draw(st.integers(0, 11))
    dumps = hung_job(mesh(tensor, parallel, steps=4), host_stops={rank: at}, with_completed=data.draw(st.booleans()))
    hang = explained(dumps)
    assert (hang.rule, culprits(hang), hang.confidence) == ("host_stuck", {rank}, "high")
    assert hang.blast_radius == tensor * parallel - 1
    assert hang.ranks.filter(pl.col("role") == "initiating")["rank"].to_list() == [rank]


@given(sizes, st.data())
def test_a_device_that_stops_is_found_in_any_mesh(size: tuple[int, int], data: st.DataObject) -> None:
    """Its host went on enqueuing, so only what the others completed tells."""
    tensor, parallel = size
    rank, at = data.draw(st.integers(0, tensor * parallel - 1)), data.draw(st.integers(0, 11))
    dumps = hung_job(mesh(tensor, parallel, steps=4), device_stops={rank: at}, with_completed=data.draw(st.booleans()))
    hang = explained(dumps)
    assert (hang.rule, culprits(hang), hang.confidence) == ("device_stuck", {rank}, "high")
    assert hang.culprits["class"].to_list() == ["culprit_device"]


@given(sizes, st.data())
def test_a_rank_that_left_no_dump_is_blamed_where_no_dump_shows_another(
    size: tuple[int, int], data: st.DataObject
) -> None:
    """Absence is evidence, of a weaker kind."""
    tensor, parallel = size
    rank, at = data.draw(st.integers(0, tensor * parallel - 1)), data.draw(st.integers(0, 11))
    hang = explained(hung_job(mesh(tensor, parallel, steps=4), host_stops={rank: at}).without(rank))
    assert (hang.rule, culprits(hang), hang.confidence) == ("host_stuck", {rank}, "medium")
    assert "left no dump" in hang.summary


@given(sizes, st.data())
def test_a_lost_dump_of_a_victim_accuses_nobody(size: tuple[int, int], data: st.DataObject) -> None:
    """It is an alternative, told as such."""
    tensor, parallel = size
    count = tensor * parallel
    rank = data.draw(st.integers(0, count - 1))
    lost = data.draw(st.integers(0, count - 1).filter(lambda each: each != rank))
    hang = explained(hung_job(mesh(tensor, parallel, steps=4), host_stops={rank: 5}).without(lost))
    assert culprits(hang) == {rank}
    assert hang.alternatives.rows() == [([lost], "no_dump")]


@given(sizes, st.data())
def test_a_link_that_carries_nothing_is_no_ranks_fault(size: tuple[int, int], data: st.DataObject) -> None:
    """All members entered and none completed."""
    tensor, parallel = size
    programs = mesh(tensor, parallel, steps=4)
    group = data.draw(st.sampled_from(sorted({call.group for program in programs.values() for call in program})))
    hang = explained(hung_job(programs, broken=[group]))
    assert (hang.rule, culprits(hang)) == ("transport", set())
    assert hang.links["group"].to_list() == [group]


def test_two_devices_in_different_groups_are_both_found() -> None:
    """As in a run in which faults were injected in two ranks."""
    hang = explained(hung_job(mesh(2, 4, steps=4), device_stops={0: 4, 6: 4}))
    assert (hang.rule, culprits(hang)) == ("device_stuck", {0, 6})


@pytest.mark.parametrize(
    ("change", "manner"),
    [
        ({"operation": "all_gather"}, "desync_type"),
        ({"elements": 65}, "desync_size"),
    ],
)
def test_the_minority_that_calls_something_else_is_suspect(change: dict[str, object], manner: str) -> None:
    """One of four ranks passes another size, or calls another collective."""
    everyone = (0, 1, 2, 3)
    programs = {rank: [Call("w", everyone)] * 8 for rank in everyone}
    programs[2] = [*programs[2][:5], replace(programs[2][5], **change), *programs[2][6:]]  # type: ignore[arg-type]
    hang = explained(hung_job(programs, broken=["w"]))
    assert (hang.rule, culprits(hang), hang.culprits["manner"].to_list()) == ("desync", {2}, [manner])
    assert "as collective 5 of group w" in hang.summary


def test_two_ranks_that_disagree_are_both_suspect() -> None:
    """There is no minority: told with low confidence."""
    programs = {0: [Call("w", (0, 1))], 1: [Call("w", (0, 1), elements=3)]}
    hang = explained(hung_job(programs, broken=["w"]))
    assert (hang.rule, culprits(hang), hang.confidence) == ("desync", {0, 1}, "low")


def test_sizes_may_differ_where_the_collective_allows_it() -> None:
    programs = {rank: [Call("w", (0, 1, 2), "all_to_all", elements=rank + 1)] for rank in range(3)}
    assert explained(hung_job(programs, broken=["w"])).rule == "transport"


def test_ranks_that_enter_two_groups_in_opposite_order_wait_in_a_circle() -> None:
    """With hosts that block on each collective, neither reaches what the other is in."""
    entered = {(0, "a"): 0, (1, "b"): 0}
    rows = [(rank, group, None, [0, 1], entered.get((rank, group), -1), -1, -1) for rank in (0, 1) for group in "ab"]
    groups = pl.DataFrame(rows, schema=GROUP_SCHEMA, orient="row")
    common = {"sequence": 0, "operation": "all_reduce", "is_p2p": False, "is_retired": False, "state": "started"}
    entries = pl.DataFrame(
        [common | {"rank": rank, "group": group, "created_ns": rank} for rank, group in entered], schema=ENTRY_SCHEMA
    )
    hang = explain_hang(groups, entries, dumped=pl.Series([0, 1]))
    assert (hang.rule, culprits(hang)) == ("wait_for", {0, 1})
    assert hang.culprits["class"].to_list() == ["culprit_software"] * 2


def transfer(rank: int, operation: str, peer: int, number: int, created_ns: int) -> dict[str, object]:
    return {
        "rank": rank, "record_id": number, "group": "p", "sequence": 7, "p2p_sequence": number, "operation": operation,
        "peer": peer, "is_p2p": True, "is_retired": False, "state": "scheduled", "created_ns": created_ns,
    }  # fmt: skip


def pipeline(entries: list[dict[str, object]], *, ranks: int) -> Dumps:
    members = list(range(ranks))
    groups = pl.DataFrame(
        [(rank, "p", None, members, 99, -1, 99) for rank in members], schema=GROUP_SCHEMA, orient="row"
    )
    return Dumps(groups, pl.DataFrame(entries, schema=ENTRY_SCHEMA), pl.Series(members))


def test_the_stage_that_never_sent_hung_the_pipeline() -> None:
    """Each later stage waits to receive from the one before it; numbers of sends tell nothing of the other side."""
    waiting = [transfer(rank, "recv", rank - 1, 40 + rank, rank) for rank in (1, 2, 3)]
    hang = explained(pipeline(waiting, ranks=4))
    assert (hang.rule, culprits(hang)) == ("host_stuck", {0})
    assert hang.ranks["distance"].to_list() == [0, 1, 2, 3]


def test_a_send_and_its_receive_that_both_wait_point_to_the_link() -> None:
    hang = explained(pipeline([transfer(0, "send", 1, 3, 1), transfer(1, "recv", 0, 5, 2)], ranks=2))
    assert (hang.rule, hang.links.rows()) == ("transport", [("p", [0, 1])])


def test_nothing_pending_is_no_hang() -> None:
    hang = explained(hung_job(mesh(2, 2, steps=1)))
    assert (hang.rule, culprits(hang), hang.blast_radius) == ("none", set(), 0)
    assert hang.summary == "No rank has a collective pending that explains a hang."


def test_groups_of_one_name_with_other_members_are_kept_apart() -> None:
    """Every pipeline stage may call its group the same."""
    programs = {rank: [Call("g", (rank // 2 * 2, rank // 2 * 2 + 1))] * 4 for rank in range(4)}
    hang = explained(hung_job(programs, host_stops={3: 1}))
    assert culprits(hang) == {3}
    assert hang.ranks["role"].to_list() == ["unaffected", "unaffected", "cascade", "initiating"]


S = 1_000_000_000


def dumps(*rows: tuple[str, int, float | None]) -> pl.DataFrame:
    """Dumps by their name, rank and the second of their last operation."""
    told = [(name, rank, None if at is None else round(at * S)) for name, rank, at in rows]
    return pl.DataFrame(told, schema={"dump": pl.String, "rank": pl.Int64, "last_ns": pl.Int64}, orient="row")


@pytest.mark.parametrize(
    ("left", "hangs"),
    [
        # One hang: the clocks and the places at which ranks stopped differ, no rank is there twice.
        ([("a0", 0, 10), ("a1", 1, 400), ("a2", 2, 405)], [{"a0", "a1", "a2"}]),
        ([("a0", 0, 10), ("a1", 1, 12), ("b0", 0, 900), ("b1", 1, 910)], [{"a0", "a1"}, {"b0", "b1"}]),
        # The dump of rank 1 is lost in the first hang, that of rank 0 in the third.
        (
            [("a0", 0, 10), ("b0", 0, 900), ("b1", 1, 910), ("c1", 1, 1800), ("c2", 2, 1805)],
            [{"a0"}, {"b0", "b1"}, {"c1", "c2"}],
        ),
        # Dumped twice in one hang: the later one has all that the other has.
        ([("a0", 0, 10), ("x0", 0, 10.5), ("a1", 1, 12)], [{"x0", "a1"}]),
        # Who had enqueued nothing has no time: the last hang lacks its dump.
        ([("a0", 0, 10), ("a1", 1, 11), ("b0", 0, 900), ("b1", 1, None)], [{"a0", "a1"}, {"b0", "b1"}]),
        ([("a0", 0, None), ("a1", 1, None)], [{"a0", "a1"}]),
    ],
)
def test_dumps_of_several_hangs_are_told_apart(
    left: list[tuple[str, int, float | None]], hangs: list[set[str]]
) -> None:
    """Ranks leave one dump in each hang; those of all hangs may lie in one folder, in any order."""
    for rows in (left, left[::-1]):
        assert [set(hang["dump"]) for hang in hangs_apart(dumps(*rows))] == hangs
