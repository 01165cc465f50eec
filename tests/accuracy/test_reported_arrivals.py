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
