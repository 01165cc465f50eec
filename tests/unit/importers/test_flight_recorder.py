"""Flight Recorder dumps: whose they are, what they hold, and what is wrong with them."""

from __future__ import annotations

import contextlib
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.errors import UnknownFormatError
from tracekit.importers import flight_recorder


def entry(sequence: int, name: str = "nccl:all_reduce", **changes: Any) -> dict[str, Any]:
    """An entry as PyTorch 2.9 writes it."""
    return {
        "record_id": sequence,
        "pg_id": 4,
        "process_group": ("17", "TENSOR"),
        "thread_name": "python3",
        "thread_id": "1",
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": name,
        "time_created_ns": 1_000 + sequence,
        "input_sizes": [[2, 3], [4]],
        "input_dtypes": ["BFloat16", "Float"],
        "output_sizes": [[2, 3]],
        "output_dtypes": ["BFloat16"],
        "state": "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
    } | changes


def dump(**changes: Any) -> dict[str, Any]:
    return {
        "version": "2.9",
        "nccl_version": "2.27.3",
        "pg_config": {
            "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
            "17": {"name": "17", "desc": "TENSOR", "ranks": "[2, 3]"},
        },
        "pg_status": {
            "0": {"last_enqueued_collective": 9, "last_started_collective": -1, "last_completed_collective": 9},
            "4": {"last_enqueued_collective": 6, "last_started_collective": 2**64 - 1, "last_completed_collective": 5},
        },
        "entries": [entry(6)],
    } | changes


def read(content: dict[str, Any], name: str = "nccl_trace_rank_3", *, protocol: int = 2) -> flight_recorder.Dump:
    return flight_recorder.read_dump(pickle.dumps(content, protocol), name=name)


def test_an_entry_and_its_groups_become_rows() -> None:
    found = read(dump())
    assert (found.rank, found.rank_source, found.version, found.problems) == (3, "file name", "2.9", ())
    assert found.groups.rows() == [
        (3, "0", "default_pg", [0, 1, 2, 3], 9, -1, 9),
        (3, "17", "TENSOR", [2, 3], 6, -1, 5),
    ]
    row = found.entries.row(0, named=True)
    assert row["group"] == "17"
    assert (row["operation"], row["sequence"], row["state"]) == ("all_reduce", 6, "scheduled")
    assert (row["input_elements"], row["output_elements"]) == (10, 6)
    assert (row["created_ns"], row["completed_ns"], row["timeout_ms"]) == (1_006, None, 600_000)


def test_json_holds_the_same_as_the_pickle() -> None:
    content = dump(entries=[entry(6), entry(7, state="completed", time_discovered_completed_ns=2_000)])
    as_json = flight_recorder.read_dump(json.dumps(content).encode(), name="rank3.json")
    assert as_json.entries.equals(read(content).entries)
    assert as_json.groups.equals(read(content).groups)


@pytest.mark.parametrize(
    "name", ["_dump_3", "nccl_trace_rank_3", "rank-3.json", "job7/3", "trace.rank3.pkl", "node12_rank3"]
)
def test_the_file_name_tells_the_rank_where_the_content_does_not(name: str) -> None:
    assert read(dump(), name).rank == 3


def test_the_content_tells_the_rank_against_the_file_name() -> None:
    """The only member of all groups is whose dump it is, or the side of a send that is its own."""
    alone = dump()
    alone["pg_config"]["21"] = {"name": "21", "desc": "EXPERT", "ranks": "[2]"}
    found = read(alone)
    assert (found.rank, found.rank_source) == (2, "content")
    assert found.problems[0] == "the file name says rank 3, its content rank 2: the content is believed"
    sending = dump(entries=[entry(1, "nccl:send 0->1", is_p2p=True)])
    assert read(sending).rank == 2


def test_a_dump_of_nobody_is_refused() -> None:
    with pytest.raises(UnknownFormatError, match="does not tell whose dump it is"):
        read(dump(), "dump")


def test_sends_and_receives_name_the_other_side_by_its_global_rank() -> None:
    found = read(dump(entries=[entry(1, "nccl:recv 1<-0", is_p2p=True), entry(2, "nccl:send 1->0", is_p2p=True)]))
    assert found.entries.select("operation", "peer", "is_p2p").rows() == [("recv", 2, True), ("send", 2, True)]


def test_groups_without_entries_are_told_by_the_order_in_which_they_were_made() -> None:
    """Names and numbers of groups both grow; but an entry that says otherwise is believed."""
    assert read(dump(entries=[])).groups["last_enqueued"].to_list() == [9, 6]
    contradicting = read(dump(entries=[entry(1, pg_id=0)]))
    assert contradicting.groups["last_enqueued"].to_list() == [None, 9]
    assert contradicting.problems == ("1 group statuses belong to groups that the dump does not name",)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (dump(version="1.5"), "version 1.5; version 2.x is read"),
        (dump(version=None), "version None"),
        ({"version": "2.9"}, "no list of entries"),
        (dump(entries={"a": 1}), "no list of entries"),
    ],
)
def test_other_content_is_refused_by_name(content: dict[str, Any], told: str) -> None:
    with pytest.raises(UnknownFormatError, match=told):
        read(content)


def test_what_is_wrong_in_an_entry_is_set_aside_and_told() -> None:
    """The good entries beside it are kept."""
    strange = [entry(1), entry(2, process_group=None), entry(3, profiling_name=7), "no entry"]
    found = read(dump(entries=strange))
    assert found.entries["sequence"].to_list() == [1]
    assert found.problems.count("an entry without process group or name is set aside") == 2


values = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3) | st.floats()


@given(
    st.dictionaries(st.sampled_from(sorted(entry(1))), values), st.dictionaries(st.sampled_from(sorted(dump())), values)
)
def test_no_value_of_another_type_breaks_the_reader(in_entry: dict[str, Any], in_dump: dict[str, Any]) -> None:
    """It is read as far as it goes, or refused."""
    with contextlib.suppress(UnknownFormatError):
        read(dump(entries=[entry(1) | in_entry]) | in_dump)


def test_dumps_are_recognised_by_what_they_begin_with() -> None:
    assert flight_recorder.recognises(pickle.dumps(dump(), 2)[:4096])
    assert flight_recorder.recognises(json.dumps(dump()).encode()[:4096])
    assert not flight_recorder.recognises(b'{"resourceSpans": []}')
    assert not flight_recorder.recognises(pickle.dumps({"version": 1}, 2))
    assert not flight_recorder.recognises(b"")
