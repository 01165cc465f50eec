"""What became of one export request, before it is put into the words of HTTP or gRPC."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Refusal(Enum):
    """Why a request was refused: its gRPC code, its HTTP status, and whether the sender should try again.

    The numbers follow the OTLP specification: of the HTTP statuses only 429, 502, 503 and 504 are tried
    again.
    """

    INVALID = (3, 400)
    UNAUTHENTICATED = (16, 401)
    FORBIDDEN = (7, 403)
    NOT_FOUND = (5, 404)
    WRONG_METHOD = (12, 405)
    STALLED = (4, 408)
    TOO_LARGE = (8, 413)
    UNSUPPORTED_MEDIA = (3, 415)
    OVERLOADED = (14, 429)
    INTERNAL = (13, 500)
    UNAVAILABLE = (14, 503)

    @property
    def grpc_code(self) -> int:
        """The number of `google.rpc.Code`."""
        return self.value[0]

    @property
    def http_status(self) -> int:
        """The HTTP status code."""
        return self.value[1]

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self in (Refusal.OVERLOADED, Refusal.UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Violation:
    """One field of a request that is wrong, and what to do about it."""

    field: str
    description: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request is durable in the store, but for `rejected_count` of its records."""

    rejected_count: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing of the request was stored. `retry_after_s` is set where trying again may help."""

    why: Refusal
    message: str
    violations: tuple[Violation, ...] = ()
    retry_after_s: int | None = None


Outcome: TypeAlias = Accepted | Refused


class RefusedError(Exception):
    """Ends the reading of a request early; `refused` is the answer."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


# Well under the 10 seconds that SDKs give an export with all its retries.
RETRY_AFTER_S = 1


def refused_for_now(why: Refusal, message: str) -> Refused:
    """A refusal that tells the sender when to come again."""
    return Refused(why, message, retry_after_s=RETRY_AFTER_S)


def stalled(seconds: float) -> Refused:
    """The refusal of a request whose body was not there after so long."""
    return Refused(Refusal.STALLED, f"the body did not arrive within {seconds:g} s; send it faster or in parts")
