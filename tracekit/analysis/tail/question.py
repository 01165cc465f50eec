"""What a tail question asks, checked, and which units that selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tracekit.analysis.population import Messages
from tracekit.analysis.tail.change import Change
from tracekit.analysis.tail.comparison import AUTOMATIC_BASELINE, BODY_BASELINE
from tracekit.errors import UsageError
from tracekit.schema import ANY_OUTCOME, METRICS, OUTCOMES, Metric


@dataclass(frozen=True)
class TailQuestion:
    """What is asked; see `tail`."""

    metric: Metric
    quantile: float | None = None
    where: str | None = None
    baseline: str = AUTOMATIC_BASELINE
    outcome: str = OUTCOMES[0]
    change: Change | None = None
    used: float | None = None
    messages: Messages = "aside"

    def __post_init__(self) -> None:
        """Raises `UsageError` for an option that makes no sense."""
        if self.metric not in METRICS:
            raise UsageError(
                f"metric {self.metric!r} is unknown; use one of {', '.join(get_args(Metric))}",
                option="metric",
                value=self.metric,
            )
        if self.quantile is not None and not 0 <= self.quantile < 1:
            raise UsageError(
                f"quantile {self.quantile} is not in [0, 1); use for example 0.99",
                option="quantile",
                value=str(self.quantile),
            )
        if self.outcome not in (*OUTCOMES, ANY_OUTCOME):
            raise UsageError(
                f"outcome {self.outcome!r} is unknown; use one of {', '.join(OUTCOMES)}, or {ANY_OUTCOME}",
                option="outcome",
                value=self.outcome,
            )

    @property
    def comparison(self) -> Literal["body", "selection"]:
        """Whether the tail is compared with the middle of the same units, or with another selection."""
        return "body" if self.baseline_condition is None else "selection"

    @property
    def baseline_condition(self) -> str | None:
        """What selects the units of the baseline; None for the middle of the same units."""
        if self.change is not None:
            return _started(self.change.before_start_ns, self.change.before_end_ns, self.where)
        return None if self.baseline in (BODY_BASELINE, AUTOMATIC_BASELINE) else self.baseline

    @property
    def selection_condition(self) -> str | None:
        """What selects the units: those of the change that was found, of those that were asked about."""
        if self.change is None:
            return self.where
        return _started(self.change.start_ns, self.change.end_ns, self.where)


def _started(first_ns: int, end_ns: int, where: str | None) -> str:
    """The units of a condition that start in a time."""
    inside = f"start_ns >= {first_ns} AND start_ns < {end_ns}"
    return inside if where is None else f"({where}\n) AND {inside}"
