"""Inputs on which times and parents are not what they should be, as reported by users of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracekit

MS = 1_000_000

TOLD = {
    "start_1970_startup": ("implausible_units", 1),
    "start_1970_one_root": ("implausible_units", 1),
    "start_1970_child": ("implausible_units", 1),
    "end_2262": ("implausible_units", 1),
    "child_before_root": ("outside_ns", 40 * MS),
    "skew_without_host_name": ("shifted_units", 1),
}


@pytest.fixture
def reported(shared_data: Path) -> Path:
    return shared_data / "reported"


@pytest.mark.parametrize(("name", "check", "count"), [(name, *told) for name, told in TOLD.items()])
def test_what_is_wrong_with_times_is_told(reported: Path, name: str, check: str, count: int) -> None:
    """By a check of its own, and no answer stands on times that cannot be."""
    with tracekit.open(None) as store:
        store.ingest(reported / f"{name}.jsonl")
        findings = {row["check"]: row for row in store.quality().findings.to_dicts()}
        assert findings[check]["count"] == count
        assert findings[check]["severity"] in ("warning", "error")
        assert store.sql("FROM units WHERE e2e_ns > 86400000000000 AND flags IS NULL").is_empty()


def test_a_request_from_1970_is_in_no_answer(reported: Path) -> None:
    """One root of forty would have made the mean 57,741,289 s."""
    with tracekit.open(None) as store:
        store.ingest(reported / "start_1970_one_root.jsonl")
        counts = store.tail(metric="e2e").evidence.counts
    assert (counts["unit_count"], counts["implausible_count"]) == (39, 1)


def test_a_background_child_did_not_hold_its_parent(reported: Path) -> None:
    """The handler keeps its time, nothing is cut, and what the two share is ambiguous."""
    with tracekit.open(None) as store:
        store.ingest(reported / "background_child_outlives_parent.jsonl")
        rows = store.sql("SELECT operation, self_ns, alternative_ns FROM unit_stages ORDER BY ALL").rows()
        assert store.sql("SELECT outside_ns, post_root_ns FROM units").rows() == [(0, 0)]
    assert [(name, own // MS, other // MS) for name, own, other in rows] == [
        ("bg", 0, 35),
        ("handler", 4, 2),
        ("query", 36, 8),
        ("render", 40, 40),
        ("root", 20, 15),
    ]


def test_a_clock_is_corrected_between_services_without_host_names(reported: Path) -> None:
    with tracekit.open(None) as store:
        store.ingest(reported / "skew_without_host_name.jsonl")
        stages = dict(store.sql("SELECT stage, self_ns FROM unit_stages").rows())
    assert (stages["db:s"], stages["edge:gw->db"]) == (18 * MS, 2 * MS)


ARRIVED = {
    "ten_sent_one_received": ("unseen_callees:api->worker", 9, 10),
    "client_and_engine_disjoint": ("other_layer:engine", 60, 120),
    "joined_by_request_id_ambiguous": ("ambiguous_joins", 1, 1),
    "one_request_three_traces": ("joined_units", 1, 1),
    "kv_transfer_in_other_trace": ("joined_units", 1, 1),
    "every_call_twice": ("repeated_spans", 3, 3),
    "engine_spans_3_of_40": ("beginning_missing", 3, 3),
}


@pytest.mark.parametrize(("name", "check", "count", "total"), [(name, *told) for name, told in ARRIVED.items()])
def test_how_requests_arrive_is_told(reported: Path, name: str, check: str, count: int, total: int) -> None:
    """By a check of its own, with the verdict that an answer has, too."""
    with tracekit.open(None) as store:
        store.ingest(reported / f"{name}.jsonl")
        quality = store.quality()
        findings = {row["check"]: (row["count"], row["total"]) for row in quality.findings.to_dicts()}
        assert findings[check] == (count, total)
        if name != "kv_transfer_in_other_trace":
            assert store.tail("e2e").evidence.verdict == quality.verdict


@pytest.mark.parametrize(
    ("name", "e2e_ms", "span_count", "stages"),
    [
        ("one_request_three_traces", 3000, 5, {"worker:handle_payload": 2935}),
        ("joined_by_request_id_ambiguous", 3000, 3, {"eng.queue": 50}),
        ("kv_transfer_in_other_trace", 2000, 6, {"kv.transfer": 375}),
    ],
)
def test_one_request_over_several_traces_is_one(
    reported: Path, name: str, e2e_ms: int, span_count: int, stages: dict[str, int]
) -> None:
    with tracekit.open(None) as store:
        store.ingest(reported / f"{name}.jsonl")
        assert store.sql("SELECT e2e_ns // 1000000, span_count FROM units").rows() == [(e2e_ms, span_count)]
        found = dict(store.sql("SELECT stage, sum(self_ns)::BIGINT FROM unit_stages GROUP BY stage").rows())
    assert {stage: found[stage] // MS for stage in stages} == stages
    assert sum(found.values()) == e2e_ms * MS


@pytest.mark.parametrize(
    ("name", "retry_ms"), [("loop_one_fails", 0), ("resend_count", 25), ("retry_after_bare_503", 25)]
)
def test_a_repetition_has_the_same_target(reported: Path, name: str, retry_ms: int) -> None:
    with tracekit.open(None) as store:
        store.ingest(reported / f"{name}.jsonl")
        found = store.sql("SELECT coalesce(sum(self_ns), 0)::BIGINT FROM unit_stages WHERE stage = 'retry'").item()
    assert found == retry_ms * MS


def test_client_and_server_with_one_id_are_both_kept(reported: Path) -> None:
    """In either order with the same result."""
    results = []
    for name in ("client_first", "server_first"):
        with tracekit.open(None) as store:
            report = store.ingest(reported / f"shared_span_id_{name}.jsonl")
            assert (report.files[0].counts.spans, report.files[0].counts.rejected) == (4, 0)
            results.append(store.sql("SELECT stage, operation, self_ns FROM unit_stages ORDER BY ALL").rows())
    assert results[0] == results[1]
    assert ("edge:front->back", "route", 8 * MS) in results[0]
