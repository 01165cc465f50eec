"""Which requests failed, what failed first in each, and what belongs together."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import duckdb
import polars as pl

from tracekit.analysis.durations import duration_text
from tracekit.analysis.measured import create_table, rows
from tracekit.analysis.request_failures_answer import RequestFailures, Verdict
from tracekit.analysis.request_selection import select_requests
from tracekit.store import Database

QUIET_NS = 60_000_000_000
"""A cause that is quiet for a minute and comes again is another incident."""

SLACK_NS = 1_000_000
"""What ended within a millisecond of a failure was still running when it came."""

CANCEL_REACH_NS = 5_000_000_000
"""A cancellation that comes later than five seconds after a sibling failed has another reason."""

FAILED = ("failed", "timed_out")
REFUSED = ("rejected", "shed")


def request_failures(database: Database, *, where: str | None = None) -> RequestFailures:
    """Give each request that was not served one first cause, and group the failed ones into incidents.

    The first cause is followed from the request's own span down: a span that only passed an error on is none, nor is
    an attempt that was repeated, nor an error that a handler stopped. Rules: `self`, `propagated`, `messenger` (a
    time-out, followed to what took the time), `unseen` (a call to something that sent no spans), `collateral` (a
    sibling's failure cancelled it), `left` (the client went away).
    Raises `QueryError` or `UsageError` for a condition that is none.
    """
    with closing(database.cursor()) as cursor:
        select_requests(cursor, where=where)
        create_table(cursor, "request_endings", "goodput/said_endings", {})
        create_table(cursor, "failure_spans", "failures/spans", {})
        create_table(cursor, "failure_reached", "failures/reached", {})
        create_table(cursor, "failure_origins", "failures/origins", {})
        create_table(cursor, "failure_causes", "failures/first_causes", {"slack_ns": SLACK_NS})
        create_table(cursor, "failure_collateral", "failures/collateral", {"reach_ns": CANCEL_REACH_NS})
        refusals = _incidents(cursor, REFUSED)
        incidents = _incidents(cursor, FAILED)
        facts: dict[str, Any] = {
            **_counts(cursor),
            "incidents": incidents,
            "refusals": refusals,
            "requests": rows(cursor, "failures/request_causes"),
            "recovered": rows(cursor, "failures/recovered"),
            "evidence": rows(cursor, "failures/evidence"),
        }
    verdict: Verdict = "no_requests" if not facts["attempted"] else "failures" if facts["failed"] else "no_failures"
    return RequestFailures(where=where, **facts, verdict=verdict, summary=_summary(facts))


def _incidents(cursor: duckdb.DuckDBPyConnection, endings: tuple[str, ...]) -> pl.DataFrame:
    """Incidents of requests that ended so; leaves `incident_members` and `failure_incidents` on the cursor."""
    options = {"quiet_ns": QUIET_NS, "endings": list(endings)}
    create_table(cursor, "incident_members", "failures/incident_members", options)
    create_table(cursor, "failure_incidents", "failures/incidents", {})
    return cursor.sql("FROM failure_incidents").pl()


def _counts(cursor: duckdb.DuckDBPyConnection) -> dict[str, int]:
    endings = dict(cursor.sql("SELECT ending, count(*) FROM request_endings GROUP BY ending").fetchall())
    attempted = cursor.sql("SELECT count(*) FROM request_selection").fetchall()[0][0]
    collateral = cursor.sql("SELECT count(*) FROM failure_collateral").fetchall()[0][0]
    counts = {name: int(endings.get(name, 0)) for name in ("timed_out", "rejected", "shed", "invalid")}
    return {
        "attempted": int(attempted),
        "failed": int(endings.get("failed", 0)) + counts["timed_out"],
        "aborted": int(endings.get("aborted_before", 0)) + int(endings.get("aborted_after", 0)),
        "collateral": int(collateral),
        **counts,
    }


def _summary(facts: dict[str, Any]) -> str:
    if not facts["attempted"]:
        return "There are no requests to judge."
    sentences = [_failed_sentence(facts), *_incident_sentences(facts["incidents"]), _other_sentence(facts)]
    return " ".join(sentence for sentence in sentences if sentence)


def _failed_sentence(facts: dict[str, Any]) -> str:
    if not facts["failed"]:
        return f"None of {facts['attempted']:,} requests failed."
    timed_out = f", {facts['timed_out']:,} of them by a time-out" if facts["timed_out"] else ""
    return f"{facts['failed']:,} of {facts['attempted']:,} requests failed{timed_out}."


def _incident_sentences(incidents: pl.DataFrame) -> list[str]:
    return [_incident_sentence(row) for row in incidents.head(3).iter_rows(named=True)]


def _incident_sentence(row: dict[str, Any]) -> str:
    what = row["error_type"] or row["kind"]
    place = " on ".join(part for part in (row["service"], row["host"]) if part) or "an unknown place"
    stage = f" in {row['stage']}" if row["stage"] else ""
    limit = duration_text(row["origin_ns"])
    how = {
        "messenger": f"the time-out of {limit} is the messenger, the time went to {place}{stage}",
        "unseen": f"first cause {what} behind {row['operation']}, which reaches {place} and shows no spans of it",
        "self": f"first cause {what} of {place}{stage} itself",
        "propagated": f"first cause {what} of {place}{stage}",
    }[row["rule"]]
    collateral = f", {row['collateral_count']:,} more were cancelled with them" if row["collateral_count"] else ""
    lost = f", {duration_text(row['lost_ns'])} lost in engines and calls" if row["lost_ns"] else ""
    return f"{row['failed_count']:,}: {how}{collateral}{lost}."


def _other_sentence(facts: dict[str, Any]) -> str:
    left = facts["aborted"] - facts["collateral"]
    others = {
        "rejected": facts["rejected"],
        "shed": facts["shed"],
        "invalid": facts["invalid"],
        "left by clients": left,
    }
    told = ", ".join(f"{count:,} {name}" for name, count in others.items() if count)
    recovered = {how: count for how, count, _ in facts["recovered"].iter_rows() if count}
    well = ", ".join(f"{count:,} {how}" for how, count in recovered.items())
    parts = [f"No failures of the service: {told}." if told else "", f"Recovered and served: {well}." if well else ""]
    return " ".join(part for part in parts if part)
