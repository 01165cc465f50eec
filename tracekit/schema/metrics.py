"""The durations that questions are about: of which units, in which column, over which windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracekit.schema.units import UNIT_WINDOWS, UnitKind, Window

Metric = Literal["ttft", "tpot", "e2e", "step"]


@dataclass(frozen=True)
class MetricDefinition:
    """A duration of units.

    `unit_kind`: the units that have it. `column`: its column in the view `units`, in nanoseconds (per token where
    `is_per_token`). `windows`: the windows of `unit_stages` whose stages sum to it. `depends_on`: columns with the
    token counts that it can depend on.
    """

    name: Metric
    unit_kind: UnitKind
    column: str
    windows: tuple[Window, ...]
    depends_on: tuple[str, ...] = ()
    is_per_token: bool = False

    @property
    def covers_unit(self) -> bool:
        """Whether it is the whole of a unit, all windows together."""
        return self.windows == UNIT_WINDOWS[self.unit_kind]


_DEFINITIONS = (
    MetricDefinition("ttft", UnitKind.REQUEST, "ttft_ns", (Window.TTFT,), ("input_tokens",)),
    MetricDefinition(
        "tpot", UnitKind.REQUEST, "tpot_ns", (Window.DECODE,), ("input_tokens", "output_tokens"), is_per_token=True
    ),
    MetricDefinition(
        "e2e", UnitKind.REQUEST, "e2e_ns", UNIT_WINDOWS[UnitKind.REQUEST], ("input_tokens", "output_tokens")
    ),
    MetricDefinition("step", UnitKind.STEP, "e2e_ns", UNIT_WINDOWS[UnitKind.STEP]),
)

METRICS: dict[Metric, MetricDefinition] = {definition.name: definition for definition in _DEFINITIONS}
"""Every metric by its name, in the order in which they are shown."""

METRIC_GROUPS = ("service_name", "host_name", "model")
"""What series of counters and gauges can be told apart by."""
