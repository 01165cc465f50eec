"""Quality: every defect is counted, and the verdict follows from stated thresholds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import polars as pl
import pytest

from tests.unit.analysis.rows import Request, Step
from tracekit.analysis import CHECKS, QualityAnswer, quality
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]

SPAN_COLUMNS = (
    "trace_id, span_id, parent_span_id, start_ns, end_ns, name, kind, status_code, resource_id, scope_id, "
    "flags, dropped_attributes_count, dropped_events_count, dropped_links_count, ingest_id"
)


def _found(answer: QualityAnswer, check: str) -> tuple[str, int, int]:
    row = answer.checks.row(by_predicate=pl.col("check") == check, named=True)
    return row["severity"], row["count"], row["total"]


def _spans(database: Database, *rows: str) -> Database:
    with database.transaction() as cursor:
        for row in rows:
            cursor.execute(f"INSERT INTO base.spans ({SPAN_COLUMNS}) VALUES ({row})")
    return database


def test_an_empty_store_is_good(database: Database) -> None:
    """Where nothing arrived, nothing is wrong, and every check is still listed."""
    answer = quality(database)
    assert (answer.verdict, answer.reasons) == ("good", [])
    assert set(answer.checks["check"]) == CHECKS.keys() - {"rejected", "note", "job", "other_layer", "unseen_callees"}


def test_clean_units_are_good(store: Write) -> None:
    """Complete, consistent units give no warning."""
    assert quality(store([Request([("ttft", "eng.queue", 100)])] * 10)).verdict == "good"


@pytest.mark.parametrize(
    ("orphan_ns", "severity", "verdict"),
    [(0, "ok", "good"), (10, "note", "usable"), (50, "warning", "usable"), (200, "error", "poor")],
)
def test_orphaned_time_has_documented_limits(store: Write, orphan_ns: int, severity: str, verdict: str) -> None:
    """Above 1 % of the time it is a warning, above 10 % the data are poor."""
    answer = quality(store([Request([("ttft", "eng.queue", 1000)], orphan_ns=orphan_ns)]))
    assert _found(answer, "orphan_ns") == (severity, orphan_ns, 1000)
    assert answer.verdict == verdict


def test_unattributed_time_is_shown(store: Write) -> None:
    """Half of the time explained by nothing is a warning with its share in words."""
    answer = quality(store([Request([("ttft", "eng.queue", 50), ("ttft", "unattributed", 50)])]))
    assert _found(answer, "unattributed_ns") == ("warning", 50, 100)
    assert "50.0% of unit time" in answer.summary


def test_missing_ranks_are_counted_against_the_world_size(store: Write) -> None:
    """Two of three steps lack a rank of a world of two."""
    database = store([Step(1, 0, [("step.compute", 9)]), Step(1, 1, [("step.compute", 9)]),
                      Step(2, 0, [("step.compute", 9)]), Step(3, 1, [("step.compute", 9)])])  # fmt: skip
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO base.resources (resource_id, identity_hash, job_id, attempt, rank, world_size, "
            "dropped_attributes_count) VALUES (1, 1, 'job', 0, 0, 2, 0)"
        )
    assert _found(quality(database), "missing_ranks") == ("error", 2, 3)


def test_spans_are_checked_for_impossible_times_and_missing_parents(database: Database) -> None:
    """A span that ends too early, one from the far future, a cut one and an orphan are each counted."""
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.ingests VALUES (1, 'file', 'json', 2000000000000000000, 4, 0, 0, 0, 0, NULL)")
    now = 2_000_000_000_000_000_000
    _spans(
        database,
        f"uuid(), 1, NULL, {now}, {now - 1}, 'backwards', 1, 0, 1, 1, 0, 0, 0, 0, 1",
        f"uuid(), 2, NULL, {2 * now}, {2 * now}, 'future', 1, 0, 1, 1, 0, 0, 0, 0, 1",
        f"uuid(), 3, 99, {now}, {now}, 'orphan', 1, 0, 1, 1, 0, 0, 0, 0, 1",
        f"uuid(), 4, NULL, {now}, {now}, 'cut', 1, 0, 1, 1, 0, 7, 0, 0, 1",
    )
    answer = quality(database)
    for check in (
        "negative_durations",
        "implausible_times",
        "missing_parents",
        "dropped_attributes",
        "rootless_traces",
    ):
        assert _found(answer, check)[1:] == (1, 4)
    assert _found(answer, "spans_without_unit")[1:] == (4, 4)


@pytest.mark.parametrize(
    ("built", "found"), [(None, ("error", 100, 100)), (1, ("error", 40, 100)), (2, ("ok", 0, 100))]
)
def test_spans_that_no_unit_was_made_of_yet_are_told(
    database: Database, built: int | None, found: tuple[str, int, int]
) -> None:
    """An update that broke off, or is under way, must not look like the whole."""
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.ingests VALUES (1, 'a', 'json', 1, 60, 0, 0, 0, 0, NULL)")
        cursor.execute("INSERT INTO base.ingests VALUES (2, 'b', 'json', 1, 40, 5, 0, 0, 0, NULL)")
        if built is not None:
            cursor.execute("INSERT INTO base.built_through VALUES (?)", [built])
    assert _found(quality(database), "unbuilt_spans") == found


def test_refused_records_are_listed_by_reason(database: Database) -> None:
    """Every reason is a check of its own; notes are told apart from refusals."""
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.ingests VALUES (1, 'file', 'json', 1, 90, 0, 0, 0, 10, NULL)")
        cursor.execute(
            "INSERT INTO base.ingest_rejects VALUES (1, 'rejected', 'traces', 'time_zero', 10, 0, NULL), "
            "(1, 'note', 'traces', 'duplicate_attribute_key', 3, 0, NULL)"
        )
    answer = quality(database)
    assert _found(answer, "rejected:time_zero") == ("warning", 10, 100)
    assert _found(answer, "note:duplicate_attribute_key") == ("warning", 3, 100)
    assert "records were refused: the time is 0 or missing (time_zero)" in answer.summary


def test_what_the_partition_noticed_is_counted(store: Write) -> None:
    """Further roots lose time and are a warning; several calls and unawaited spans are only said."""
    flags = ["extra_roots", "several_calls,async", "conflict:queue", None]
    answer = quality(store([Request([("ttft", "eng.queue", 100)], flags=flag) for flag in flags]))
    assert _found(answer, "extra_roots") == ("warning", 1, 4)
    assert _found(answer, "several_calls") == ("note", 1, 4)
    assert _found(answer, "asynchronous_units") == ("note", 1, 4)
    assert answer.verdict == "usable"


def test_every_look_statement_runs(database: Database) -> None:
    """What a check says to look at is a statement that the store can run."""
    for check in CHECKS.values():
        database.sql(check.look)


def test_the_dictionary_is_json(database: Database) -> None:
    """Scripts rely on the verdict, its reasons and the checks."""
    answer = json.loads(json.dumps(quality(database).as_dict()))
    assert {"verdict", "reasons", "summary", "checks", "coverage"} == answer.keys()
