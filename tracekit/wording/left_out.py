"""What no answer counts together with the others, in words."""

from __future__ import annotations

from collections.abc import Mapping

from tracekit.analysis import FROM_MESSAGE, IMPLAUSIBLE, NO_MODEL_CALL, OTHER_LAYER
from tracekit.wording.numbers import counted


def left_out_notes(left_out: Mapping[str, int], seen_from: str | None) -> list[str]:
    """A part of a sentence for each reason that requests were left out for."""
    notes = [
        f"{_requests(count)} seen from the {reason.removeprefix(OTHER_LAYER)} only {_were(count)} left out: "
        f"this is about those that are seen from the {seen_from}, because both may show the same ones"
        for reason, count in left_out.items()
        if reason.startswith(OTHER_LAYER) and count
    ]
    if count := left_out.get(IMPLAUSIBLE, 0):
        notes.append(f"{_requests(count)} with times that cannot be {_were(count)} left out")
    if count := left_out.get(NO_MODEL_CALL, 0):
        verb = "calls" if count == 1 else "call"
        notes.append(f"{_requests(count)} that {verb} no model {_were(count)} left out")
    if count := left_out.get(FROM_MESSAGE, 0):
        notes.append(
            f"{_requests(count)} that a message started {_were(count)} left out: whoever sent it does not wait for that"
        )
    return notes


def left_out_sentences(left_out: Mapping[str, int], seen_from: str | None) -> list[str]:
    """A sentence for each reason that requests were left out for."""
    return [f"{note[0].upper()}{note[1:]}." for note in left_out_notes(left_out, seen_from)]


def _requests(count: int) -> str:
    return counted(count, "request")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
