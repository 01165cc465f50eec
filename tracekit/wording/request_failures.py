"""What a failures answer about requests says, in plain sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import RequestFailures, words_for
from tracekit.wording.left_out import left_out_sentences
from tracekit.wording.numbers import duration_text


@words_for(RequestFailures)
def request_failures_summary(answer: RequestFailures) -> str:
    """How many failed, the largest incidents with their first cause, and what is no failure."""
    if not answer.attempted:
        return "There are no requests to judge."
    sentences = [_failed_sentence(answer), *_incident_sentences(answer.incidents), _other_sentence(answer)]
    sentences += left_out_sentences(answer.left_out, answer.seen_from)
    return " ".join(sentence for sentence in sentences if sentence)


def _failed_sentence(answer: RequestFailures) -> str:
    if not answer.failed:
        return f"None of {answer.attempted:,} requests failed."
    timed_out = f", {answer.timed_out:,} of them by a time-out" if answer.timed_out else ""
    return f"{answer.failed:,} of {answer.attempted:,} requests failed{timed_out}."


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


def _other_sentence(answer: RequestFailures) -> str:
    left = answer.aborted - answer.collateral
    others = {
        "rejected": answer.rejected,
        "shed": answer.shed,
        "invalid": answer.invalid,
        "left by clients": left,
    }
    told = ", ".join(f"{count:,} {name}" for name, count in others.items() if count)
    recovered = {how: count for how, count, _ in answer.recovered.iter_rows() if count}
    well = ", ".join(f"{count:,} {how}" for how, count in recovered.items())
    parts = [f"No failures of the service: {told}." if told else "", f"Recovered and served: {well}." if well else ""]
    return " ".join(part for part in parts if part)
