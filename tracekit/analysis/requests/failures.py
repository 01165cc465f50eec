"""Which requests failed, what failed first in each, and what belongs together."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import duckdb
import polars as pl

from tracekit.analysis.answer import question
from tracekit.analysis.requests.failures_answer import RequestFailures, Verdict
from tracekit.analysis.requests.selection import select_requests
from tracekit.analysis.temporary import create_table, rows
from tracekit.store import Database

QUIET_NS = 60_000_000_000
"""A cause that is quiet for a minute and comes again is another incident."""

SLACK_NS = 1_000_000
"""What ended within a millisecond of a failure was still running when it came."""

CANCEL_REACH_NS = 5_000_000_000
"""A cancellation that comes later than five seconds after a sibling failed has another reason."""

FAILED = ("failed", "timed_out")
REFUSED = ("rejected", "shed")


@question("request_failures")
def request_failures(database: Database, *, where: str | None = None) -> RequestFailures:
    """Give each request that was not served one first cause, and group the failed ones into incidents.

    The first cause is followed from the request's own span down: a span that only passed an error on is none, nor is
    an attempt that was repeated, nor an error that a handler stopped. Rules: `self`, `propagated`, `messenger` (a
    time-out, followed to what took the time), `unseen` (a call to something that sent no spans), `collateral` (a
    sibling's failure cancelled it), `left` (the client went away).
    Raises `QueryError` or `UsageError` for a condition that is none.
    """
    with closing(database.cursor()) as cursor:
        selected = select_requests(cursor, where=where)
        create_table(cursor, "ended_spans", "failures/ended_spans", {})
        create_table(cursor, "request_endings", "goodput/said_endings", {})
        create_table(cursor, "failure_spans", "failures/spans", {})
        cursor.execute("DROP TABLE ended_spans")
        create_table(cursor, "failure_reached", "failures/reached", {})
        create_table(cursor, "failure_origins", "failures/origins", {})
        create_table(cursor, "failure_causes", "failures/first_causes", {"slack_ns": SLACK_NS})
        create_table(cursor, "failure_collateral", "failures/collateral", {"reach_ns": CANCEL_REACH_NS})
        refusals = _incidents(cursor, REFUSED)
        incidents = _incidents(cursor, FAILED)
        facts: dict[str, Any] = {
            **_counts(cursor),
            "left_out": selected.left_out,
            "seen_from": selected.seen_from,
            "incidents": incidents,
            "refusals": refusals,
            "requests": rows(cursor, "failures/request_causes"),
            "recovered": rows(cursor, "failures/recovered"),
            "evidence": rows(cursor, "failures/evidence"),
        }
    verdict: Verdict = "no_requests" if not facts["attempted"] else "failures" if facts["failed"] else "no_failures"
    return RequestFailures(where=where, **facts, verdict=verdict)


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
