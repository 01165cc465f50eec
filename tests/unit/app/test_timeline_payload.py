"""What the browser gets: columns that are read back here as the timeline reads them."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from investigation.marks import equal_table, event_marks, link_marks, longest_row, no_points, summed_range
from investigation.timeline_component import Chosen, Seen, chosen_in, with_seen
from investigation.timeline_payload import packed
from investigation.waterfall import trace_rows

from tests.unit.app.test_waterfall import EPOCH_NS, REQUEST, SENDERS

HEADER_AT = 40
KINDS = {"f8": "<f8", "u4": "<u4", "u2": "<u2", "u1": "u1", "i4": "<i4"}
NO_EVENTS = pl.DataFrame(schema={"row": pl.Int64, "time_ns": pl.Int64, "name": pl.String})
NO_LINKS = pl.DataFrame(schema={"row": pl.Int64, "linked_row": pl.Int64})


def read_back(block: bytes) -> dict[str, Any]:
    """The header's fields, and each column under its name."""
    columns_at = HEADER_AT + int.from_bytes(block[:4], "little")
    read = json.loads(block[HEADER_AT:columns_at])
    for name, (kind, offset, length) in read["columns"].items():
        assert (columns_at + offset) % 8 == 0
        read[name] = np.frombuffer(block, KINDS[kind], length, columns_at + offset).tolist()
    return read


def request(**other: Any) -> dict[str, Any]:
    """The request of the waterfall tests, packed and read back."""
    bars, segments = trace_rows(REQUEST, SENDERS)
    options = {"title": "a trace", "events": NO_EVENTS, "links": NO_LINKS, "points": no_points()} | other
    return read_back(packed(bars, segments, **options))


def test_rows_come_back_as_they_were() -> None:
    """Offsets, depths, the end of each subtree, and texts by their numbers."""
    trace = request()
    assert (trace["start"], trace["end"], trace["depth"], trace["last"]) == (
        [0, 10, 20], [100, 90, 90], [0, 1, 2], [3, 3, 3],
    )  # fmt: skip
    assert [trace["labels"][code] for code in trace["label"]] == ["POST · gateway", "✕ llm_request · vllm", "queue"]
    assert (trace["is_virtual"], trace["is_error"], trace["total_ns"]) == ([0, 0, 1], [0, 1, 0], 100)


def test_segments_lie_in_their_rows_and_their_stages() -> None:
    """What each row owns, exactly; the stage with the most time comes first."""
    trace = request()
    stages = [stage["name"] for stage in trace["stages"]]
    assert stages[0] == "eng.queue"
    drawn = zip(trace["seg_row"], trace["seg_start"], trace["seg_end"], trace["seg_stage"], strict=True)
    assert [(row, start, end, stages[code]) for row, start, end, code in drawn] == [
        (0, 0, 10, "gw.ingress"), (0, 90, 100, "gw.ingress"), (1, 10, 20, "unattributed"), (2, 20, 90, "eng.queue"),
    ]  # fmt: skip


def test_the_path_goes_from_owner_to_owner_in_order_of_time() -> None:
    """The critical path of the tree: every segment once."""
    trace = request()
    assert trace["paths"] == [[0, 4]]
    assert [trace["seg_start"][segment] for segment in trace["path_segment"]] == [0, 10, 20, 90]


def test_names_that_would_act_are_written_out() -> None:
    """An escape sequence and a turned direction are text in the browser too, and no name is endless."""
    hostile = REQUEST.with_columns(operation=pl.lit("\x1b[31m\u202e" + "n" * 1000))
    bars, segments = trace_rows(hostile, SENDERS)
    block = packed(bars, segments, title="\x1b", events=NO_EVENTS, links=NO_LINKS, points=no_points())
    trace = read_back(block)
    texts = "".join([*trace["labels"], trace["title"]])
    assert "\\x1b" in texts
    assert not {"\x1b", "\u202e"} & set(texts)
    assert max(map(len, trace["labels"])) < 200


def test_counters_are_tracks_with_their_readings() -> None:
    """One track a series; what is no number is left out."""
    points = pl.DataFrame(
        {
            "series": ["b", "a", "a", "a"], "unit": [None, "W", "W", "W"],
            "time_ns": [5, 9, 2, 4], "value": [1.0, 3.0, 2.0, float("nan")],
        }
    )  # fmt: skip
    trace = request(points=points)
    ends = [(track["label"], track["unit"], track["from"], track["to"], track["most"]) for track in trace["tracks"]]
    assert ends == [("a", "W", 0, 2, 3.0), ("b", "", 2, 3, 1.0)]
    assert (trace["point_ns"], trace["point_value"]) == ([2, 9, 5], [2, 3, 1])


def test_events_and_links_lie_on_the_clock_and_the_row_of_their_span() -> None:
    """A corrected span takes its events along; a link to elsewhere has no row."""
    bars = pl.DataFrame({"span_id": ["a", "b", None], "row": [0, 1, 2], "shift_ns": [0, -3, 0]})
    events = pl.DataFrame({"span_id": ["b"], "time_ns": [EPOCH_NS + 10], "name": ["exception"]})
    assert event_marks(events, bars, EPOCH_NS).rows() == [(1, 7, "exception")]
    links = pl.DataFrame({"span_id": ["a", "a"], "linked_trace_id": ["t", "x"], "linked_span_id": ["b", "b"]})
    assert sorted(link_marks(links, bars, ["t"]).rows(), key=str) == [(0, 1), (0, None)]


def test_a_range_is_summed_exactly_by_stage() -> None:
    """Segments are cut where the range ends; the sum is the owned time of the range, to the nanosecond."""
    _, segments = trace_rows(REQUEST, SENDERS)
    assert summed_range(segments, 5, 30).rows() == [
        ("eng.queue", 10, 0.4), ("unattributed", 10, 0.4), ("gw.ingress", 5, 0.2),
    ]  # fmt: skip
    assert summed_range(segments, 100, 200).is_empty()


@given(st.integers(0, 100), st.integers(0, 100))
def test_any_range_of_a_request_is_owned_as_a_whole(one: int, other: int) -> None:
    """No nanosecond is counted twice or lost, wherever the range begins and ends."""
    _, segments = trace_rows(REQUEST, SENDERS)
    assert summed_range(segments, min(one, other), max(one, other))["self_ns"].sum() == abs(one - other)


def test_the_proof_of_a_stage_is_the_row_with_the_most_of_it() -> None:
    """None where the stage has no time here."""
    _, segments = trace_rows(REQUEST, SENDERS)
    assert (longest_row(segments, "gw.ingress"), longest_row(segments, "kv.load"), longest_row(segments, None)) == (
        0, None, None,
    )  # fmt: skip


def test_the_table_has_every_row_of_the_timeline() -> None:
    """Level, times and marks, in the order of the rows; owned time sums to the request."""
    bars, segments = trace_rows(REQUEST, SENDERS)
    table = equal_table(bars, segments)
    assert table["row"].to_list() == bars["label"].to_list()
    assert table["level"].to_list() == [1, 2, 3]
    assert table["owns (ns)"].sum() == 100
    assert table["marks"].to_list() == ["", "failed", "derived, from its attribute"]


@pytest.mark.parametrize(
    ("picked", "ends", "expected"),
    [
        (2, [3, 9.6], Chosen(2, (3, 10))),
        (3, [9, 3], Chosen(None, None)),
        (-1, [3], Chosen(None, None)),
        ("2", ["a", "b"], Chosen(None, None)),
        (True, [float("nan"), 3], Chosen(None, None)),
        (None, None, Chosen(None, None)),
    ],
)
def test_what_a_browser_sends_is_looked_at(picked: object, ends: object, expected: Chosen) -> None:
    """A row that is not there and a range that is none are nothing."""
    assert chosen_in({"picked": picked, "range": ends}, row_count=3) == expected


def test_what_a_link_shows_of_a_timeline_stands_behind_it() -> None:
    """The content, and with it the id by which a browser knows it, stays as it is."""
    packed = with_seen(b"trace", Seen(view_ns=(5, 9)))
    assert packed.startswith(b"trace")
    view_from, view_to, *rest = struct.unpack("<4d", packed.removeprefix(b"trace"))
    assert (view_from, view_to) == (5, 9)
    assert all(map(math.isnan, rest))
    assert chosen_in({"view": [3, 9]}, row_count=3) == Chosen(None, None, (3, 9))
    assert chosen_in({"view": [-3, 9]}, row_count=3) == Chosen(None, None)
