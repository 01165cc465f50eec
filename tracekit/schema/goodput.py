"""How requests count against an SLO."""

from __future__ import annotations

BUCKETS = (
    "rejected", "shed", "invalid", "failed", "timed_out", "aborted_before", "aborted_after",
    "late_ttft", "late_tpot", "late_e2e", "unknown",
)  # fmt: skip
"""Why a request was not good; each request has one bucket or is good."""
