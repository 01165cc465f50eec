"""Answers about the outcomes of requests as rows, as an object, and as a text."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import BUCKETS, RequestFailures, RequestGoodput
from tracekit.output import table
from tracekit.wording import duration_text, moment_text, share_text

_SHOWN_ROWS = 12


def request_goodput_rest(answer: RequestGoodput) -> str:
    """Stages of late requests, waste, and who was hit, of a goodput answer; without its summary."""
    parts: list[str] = []
    if len(answer.lost_by_stage):
        parts += ["", "Late requests by stage (misses sum to the late ones; the last column does not):"]
        parts.append(table(_stage_table(answer.lost_by_stage)))
    lost = answer.wasted.filter(pl.col("bucket") != "good")
    if len(lost):
        parts += ["", "What was not good consumed:", table(_wasted_table(lost))]
    if len(answer.by):
        parts += ["", "Good by:", table(_dimension_table(answer.by))]
    return "\n".join(parts).strip()


def _stage_table(lost: pl.DataFrame) -> pl.DataFrame:
    shown = lost.filter((pl.col("misses") > 0) | (pl.col("would_be_good") > 0)).head(_SHOWN_ROWS)
    return shown.select("stage", "owner", "misses", "late_ttft", "late_tpot", "late_e2e", "would_be_good")


def _wasted_table(wasted: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "bucket": row["bucket"],
            "requests": f"{row['request_count']:,}",
            "tokens": f"{row['tokens']:,}",
            "in engines": duration_text(row["engine_ns"]),
            "in calls without spans": duration_text(row["upstream_ns"]),
            "in repeated attempts": duration_text(row["retry_ns"]),
        }
        for row in wasted.iter_rows(named=True)
    ]
    return pl.DataFrame(rows)


def _dimension_table(by: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "by": row["dimension"],
            "value": row["value"] or "not told",
            "attempted": f"{row['attempted']:,}",
            "good": share_text(row["good"] / (row["attempted"] - row["invalid"] or 1)),
            "most lost to": _most_lost(row),
        }
        for row in by.group_by("dimension", maintain_order=True).head(_SHOWN_ROWS).iter_rows(named=True)
    ]
    return pl.DataFrame(rows)


def _most_lost(row: dict[str, Any]) -> str:
    bucket = max(BUCKETS, key=lambda name: row[name])
    return f"{bucket} {row[bucket]:,}" if row[bucket] else "nothing"


def request_failures_rest(answer: RequestFailures) -> str:
    """Incidents and refusals, most requests first, and what shows the first of them; without the summary."""
    parts: list[str] = []
    for title, incidents in (("Incidents:", answer.incidents), ("Refused:", answer.refusals)):
        if len(incidents):
            parts += ["", title, table(_incident_table(incidents))]
    if len(answer.evidence):
        parts += ["", "Evidence:", table(answer.evidence.head(_SHOWN_ROWS))]
    return "\n".join(parts).strip()


def _incident_table(incidents: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "incident": row["incident"],
            "from": moment_text(row["first_ns"]),
            "until": moment_text(row["last_ns"]),
            "requests": f"{row['failed_count']:,}",
            "collateral": f"{row['collateral_count']:,}",
            "rule": row["rule"],
            "service": row["service"] or "not told",
            "host": row["host"] or "not told",
            "stage": row["stage"] or "not told",
            "error": row["error_type"] or row["kind"],
            "lost": duration_text(row["lost_ns"]),
            "trace": row["trace_id"],
        }
        for row in incidents.head(_SHOWN_ROWS).iter_rows(named=True)
    ]
    return pl.DataFrame(rows)
