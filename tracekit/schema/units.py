"""Kinds of units, and the windows that a unit's time is cut into."""

from __future__ import annotations

from enum import StrEnum


class UnitKind(StrEnum):
    """What is explained: a request, one rank's part of a training step, or one accelerator of a job."""

    REQUEST = "request"
    STEP = "step"
    JOB = "job"


class Window(StrEnum):
    """Parts of a unit; together they are the unit.

    A request with known tokens has TTFT, DECODE and AFTER, any other request E2E alone, a step STEP, a job JOB.
    """

    TTFT = "ttft"
    DECODE = "decode"
    AFTER = "after"
    E2E = "e2e"
    STEP = "step"
    JOB = "job"


UNIT_WINDOWS: dict[UnitKind, tuple[Window, ...]] = {
    UnitKind.REQUEST: (Window.TTFT, Window.DECODE, Window.AFTER, Window.E2E),
    UnitKind.STEP: (Window.STEP,),
    UnitKind.JOB: (Window.JOB,),
}
"""The windows that units of a kind can have."""
