"""How units end."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a unit ended.

    aborted: given up by the client. rejected: refused by admission. invalid: the client's mistake.
    """

    OK = "ok"
    FAILED = "failed"
    ABORTED = "aborted"
    REJECTED = "rejected"
    INVALID = "invalid"
    UNKNOWN = "unknown"


OUTCOMES: tuple[str, ...] = tuple(str(outcome) for outcome in Outcome)
"""The outcomes that a question can ask for, besides ANY_OUTCOME."""

ANY_OUTCOME = "any"
