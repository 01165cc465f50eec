"""What a tail question compares: the cohorts, and the time of their stages in temporary tables of its own."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import polars as pl

from tracekit.analysis.answer import UNITS_SCHEMA
from tracekit.analysis.measured import MeasuredUnits
from tracekit.analysis.selection import Selection
from tracekit.analysis.tail.cohorts import (
    REFERENCE,
    TAIL,
    Cohort,
    StageSums,
    band_cohort,
    edge_cohorts,
    stage_sums,
)
from tracekit.analysis.tail.like_units import LikeUnits
from tracekit.analysis.tail.windows import window_cohort
from tracekit.schema import BODY

AUTOMATIC_BASELINE = "auto"
"""The baseline that is the time before the store changed, or the middle of the same units where it did not."""

BODY_BASELINE = "body"
"""The baseline that is the middle of the same units."""


@dataclass(frozen=True)
class Layout:
    """The cohorts of a question: tail, reference, the ends of both, and further levels.

    `edges`: numbers of the end cohorts of the tail and the reference. `levels`: pairs of cohort numbers by
    name. `rest`: number of the cohort that attributes of the tail are compared with. `like`: the baseline as it would
    be with the units of the selection, and the number of its first cohort; of the four the first two are its tail (see
    `LikeUnits.tail`), then come their ends. `pooled`: number of the tail of the whole baseline. `places`: among
    how many such selections this one was chosen for what it shows; chance is asked as often.
    """

    cohorts: list[Cohort]
    edges: dict[int, tuple[int, int]]
    levels: dict[str, tuple[int, int]]
    rest: int
    like: LikeUnits | None = None
    like_number: int = 0
    pooled: int = REFERENCE
    places: float = 1.0

    @classmethod
    def of(cls, sides: list[MeasuredUnits], baseline: str, *, quantile: float, places: float = 1.0) -> Layout:
        """The cohorts of the tail at a quantile against the middle of the same units, or another selection."""
        selection, other = sides
        tail_cohort = band_cohort(selection, lower=quantile)
        if baseline == BODY_BASELINE:
            reference = band_cohort(selection, lower=BODY[0], upper=BODY[1])
        else:
            windows = window_cohort(selection, other, quantile=quantile)
            reference = windows or band_cohort(other, lower=quantile)
        tail_edges, reference_edges = edge_cohorts(tail_cohort), edge_cohorts(reference)
        cohorts = [tail_cohort, reference, *tail_edges, *reference_edges]
        edges = {TAIL: (2, 3)} | ({REFERENCE: (4, 5)} if reference_edges else {})
        if baseline == BODY_BASELINE:
            return cls(cohorts, edges, {}, REFERENCE)
        middles = [band_cohort(units, lower=BODY[0], upper=BODY[1]) for units in sides]
        levels = {BODY_BASELINE: (len(cohorts), len(cohorts) + 1)}
        pooled = [] if reference.band is not None else [band_cohort(other, lower=quantile)]
        like = LikeUnits.of(selection, other)
        weighted = [*like.tail(quantile), *like.edge(quantile)]
        first = len(cohorts) + len(middles)
        return cls(
            [*cohorts, *middles, *weighted, *pooled],
            edges,
            levels,
            REFERENCE,
            like,
            first,
            first + len(weighted) if pooled else REFERENCE,
            places,
        )


class Comparison:
    """A tail against a reference, stage by stage.

    A context manager. On the cursor of its selection it owns the frame `tail_members` (`unit_id`, `band`: number of
    the cohort, `bin`: slice of time or window, `class_id`, `weight`) and the table `tail_stage_rows` (time of these
    units by window, stage and operation), and `tail_attributes` and `tail_hosts` where attributes are compared;
    statements of `queries/tail` read them. All are gone when it is closed.
    """

    def __init__(self, selection: Selection, layout: Layout) -> None:
        """Raises `InsufficientDataError` where the stored stages contradict the durations."""
        self.selection = selection
        self.layout = layout
        self.tail, self.reference = layout.cohorts[TAIL], layout.cohorts[REFERENCE]
        self._create_tables()
        self.sums: StageSums = stage_sums(self.rows("tail/block_sums"), layout.cohorts)

    def close(self) -> None:
        """Drop the tables."""
        self.selection.drop("tail_stage_rows", "tail_attributes", "tail_hosts")
        self.selection.unregister("tail_members")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_empty(self) -> bool:
        """Whether a side has no units, so that nothing can be compared."""
        return self.tail.count == 0 or self.reference.count == 0

    @property
    def excess_ns(self) -> int:
        """Mean of the tail less that of the reference, to the nearest nanosecond each."""
        return self.tail.mean_ns - self.reference.mean_ns

    @property
    def units(self) -> pl.DataFrame:
        """The units that are compared (UNITS_SCHEMA)."""
        sides = {"tail": self.tail, "baseline": self.reference}
        parts = [
            pl.DataFrame({"unit_id": cohort.unit_ids}).with_columns(cohort=pl.lit(name))
            for name, cohort in sides.items()
        ]
        return pl.concat(part.cast(UNITS_SCHEMA) for part in parts)

    def rows(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of `queries/<name>.sql`, which may read the temporary tables."""
        return self.selection.rows(name, **parameters)

    def create_table(self, table: str, name: str, /, **parameters: Any) -> None:
        """Keep the rows of `queries/<name>.sql` as the temporary table `table`."""
        self.selection.create_table(table, name, **parameters)

    def create_host_table(self) -> None:
        """Make the table `tail_hosts` (`tail/unit_hosts.sql`)."""
        self.selection.sample()
        self.create_table("tail_hosts", "tail/unit_hosts", rest_band=self.layout.rest)

    def _create_tables(self) -> None:
        self.selection.register("tail_members", _members(self.layout.cohorts))
        metric = self.selection.metric
        if metric.is_per_token:
            self.create_table("tail_stage_rows", "tail/stage_rows_per_token")
        else:
            windows = None if metric.covers_unit else list(metric.windows)
            self.create_table("tail_stage_rows", "tail/stage_rows", windows=windows)


def _members(cohorts: list[Cohort]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "unit_id": cohort.unit_ids,
                "band": np.full(cohort.count, number, dtype=np.uint8),
                "bin": cohort.bins.astype(np.uint32),
                "class_id": cohort.units.class_id[cohort.positions].astype(np.uint16),
                "weight": np.ones(cohort.count) if cohort.weights is None else cohort.weights,
            }
        )
        for number, cohort in enumerate(cohorts)
    )
