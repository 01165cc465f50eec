"""The answer to "whose fault were the failed requests"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from tracekit.analysis.worded import in_words
from tracekit.schema import exchanged

Verdict = Literal["failures", "no_failures", "no_requests"]
"""failures: requests failed, and incidents say why. no_failures: none did. no_requests: the selection is empty."""


@exchanged("request_failures")
@dataclass(frozen=True)
class RequestFailures:
    """Requests that were not served, each with one first cause, and the incidents that they make up.

    attempted: requests of the selection. left_out: requests that no answer counts with these, by reason; seen_from:
        the layer that these are seen from, None where they call no model.
    failed: those that failed, timed out included. timed_out: of them. aborted, rejected, shed, invalid: those that
        ended so; none of them is a failure of the service by itself.
    collateral: aborted requests that a sibling's failure cancelled.
    incidents: one row a cause and time; failed_count sums to `failed`. refusals: the same of rejected and shed ones.
    requests: one row a request that was not served, with its rule, cause and incident.
    recovered: served requests in which something failed, `how`: retried or handled.
    evidence: spans, exceptions and log records of the first request of each incident.
    verdict, summary: the conclusion.
    """

    where: str | None
    attempted: int
    failed: int
    timed_out: int
    aborted: int
    rejected: int
    shed: int
    invalid: int
    collateral: int
    incidents: pl.DataFrame
    refusals: pl.DataFrame
    requests: pl.DataFrame
    recovered: pl.DataFrame
    evidence: pl.DataFrame
    verdict: Verdict
    left_out: dict[str, int] = field(default_factory=dict)
    seen_from: str | None = None

    @property
    def summary(self) -> str:
        """The conclusion in sentences, as `tracekit.wording` says it."""
        return in_words(self)

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, incidents nested as `docs/json.md` writes them."""
        counts = (
            "where", "attempted", "failed", "timed_out", "aborted", "rejected", "shed", "invalid", "collateral",
            "left_out", "seen_from", "verdict", "summary",
        )  # fmt: skip
        return {name: getattr(self, name) for name in counts} | {
            "incidents": self._nested(self.incidents),
            "refusals": self._nested(self.refusals),
            "recovered": self.recovered.to_dicts(),
        }

    def as_list(self) -> list[dict[str, Any]]:
        """Incidents as `tracekit failures --json` prints them."""
        return self._nested(self.incidents)

    def counts_and_refusals(self) -> dict[str, Any]:
        """What `tracekit failures --json` prints about requests beside incidents."""
        counts = {
            name: getattr(self, name)
            for name in ("attempted", "timed_out", "shed", "collateral", "left_out", "seen_from")
        }
        return counts | {"refusals": self._nested(self.refusals), "recovered": self.recovered.to_dicts()}

    def _nested(self, incidents: pl.DataFrame) -> list[dict[str, Any]]:
        members = self.requests.filter(pl.col("incident").is_not_null()).group_by("incident").agg("trace_id")
        victims = dict(members.iter_rows())
        shown = {
            number: part.drop("incident").to_dicts()
            for (number,), part in self.evidence.group_by(["incident"], maintain_order=True)
        }
        return [_incident(row, victims, shown) for row in incidents.iter_rows(named=True)]


def _incident(row: dict[str, Any], victims: dict[int, list[str]], shown: dict[int, Any]) -> dict[str, Any]:
    number = row["incident"]
    cause = {name: row[name] for name in ("stage", "host", "service", "span_id", "rule", "message", "error_type")}
    return {
        "id": number,
        "unit": row["trace_id"],
        "kind": row["kind"],
        "time_ns": row["first_ns"],
        "last_ns": row["last_ns"],
        "first_cause": {"rank": None, **cause, "operation": row["operation"]},
        "victims": victims.get(number, []),
        **{name: row[name] for name in ("failed_count", "collateral_count", "tokens", "lost_ns", "waited_ns")},
        "evidence": shown.get(number, []),
    }
