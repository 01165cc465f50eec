"""The two sides of a comparison as arrays: requests, their classes, the time of their stages."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import numpy as np
import polars as pl

from tracekit.analysis.requests.goodput import judge_requests
from tracekit.analysis.requests.selection import SelectedRequests
from tracekit.analysis.requests.slo import Slo, SloSet
from tracekit.analysis.statistics import blocks
from tracekit.analysis.temporary import create_table, rows
from tracekit.errors import UsageError
from tracekit.store import Database

_OF_SERVER = re.compile(r"(version|host):(.+)", re.DOTALL)
_WINDOW = re.compile(r"(\d{4}-\d\d-\d\dT[^/]+)/(\d{4}-\d\d-\d\dT[^/]+)")


@dataclass(frozen=True)
class Selected:
    """Which requests a side is about: a condition over the view `units`, or what served them (`host`, `version`)."""

    where: str | None = None
    server: tuple[str, str] | None = None


@dataclass(frozen=True)
class Compared:
    """Both sides, the stages that their row numbers mean, and the requests that no answer counts with these.

    left_out: by reason those of both sides. seen_from: the layer that the requests are seen from. counts: what is known
    to be wrong with the requests of each side, a row of `quality/answer_units`.
    """

    sides: list[ComparedSide]
    stages: list[str]
    left_out: dict[str, int]
    seen_from: str | None
    counts: list[dict[str, int]]


@dataclass(frozen=True)
class StageTimes:
    """Exclusive times as parallel arrays (int64), one row an operation; stages are numbers that both sides share."""

    position: np.ndarray
    stage: np.ndarray
    self_ns: np.ndarray


@dataclass(frozen=True)
class ComparedSide:
    """Requests of one side in order of start.

    `units`: rows of `compare/units`. `served`: those of served requests, whose row is their position.
    `by_window`: times of their stages in each window (before the first token, until the last one, other).
    """

    units: pl.DataFrame
    served: pl.DataFrame
    by_window: list[StageTimes]

    def times(self, window: int | None) -> StageTimes:
        """Times of stages in one window, or in all."""
        return _joined(self.by_window) if window is None else self.by_window[window]

    @property
    def unit_slices(self) -> np.ndarray:
        """The slice of time of every request: int64, by row of `units`."""
        return blocks.slices(self.units["start_ns"].to_numpy())

    @property
    def served_slices(self) -> np.ndarray:
        """The same of the served ones, by position."""
        return self.unit_slices[self.units["e2e_ns"].is_not_null().to_numpy()]


def selected(text: str | None) -> Selected:
    """A side as written on the command line: `version:V`, `host:H`, `FROM/UNTIL` (ISO times, UTC), or a condition."""
    if text is None:
        return Selected()
    if not text.strip():
        raise UsageError("a side is empty; give a condition, a window, version:V or host:H")
    if server := _OF_SERVER.fullmatch(text.strip()):
        return Selected(server=(server[1], server[2].strip()))
    if window := _WINDOW.fullmatch(text.strip()):
        first_ns, end_ns = (_moment_ns(part) for part in window.groups())
        if first_ns >= end_ns:
            raise UsageError(f"the window {text!r} ends before it begins", option="window", value=text)
        return Selected(where=f"start_ns >= {first_ns} AND start_ns < {end_ns}")
    return Selected(where=text)


def compared_sides(
    databases: tuple[Database, Database], sides: tuple[Selected, Selected], goal: SloSet | None, where: str | None
) -> Compared:
    """Both sides as arrays."""
    judged_by = goal or SloSet((Slo(),))
    with closing(databases[0].cursor()) as before, closing(databases[1].cursor()) as after:
        cursors = (before, after)
        first, chosen_first = _units(before, sides[0], judged_by, where)
        # Both sides as the same layer saw them.
        second, chosen_second = _units(after, sides[1], judged_by, where, seen_from=chosen_first.seen_from)
        units = [first, second]
        served = [_register_served(cursor, part) for cursor, part in zip(cursors, units, strict=True)]
        stores = cursors[:1] if databases[0] is databases[1] else cursors
        names = sorted({name for cursor in stores for name in rows(cursor, "compare/stage_names")["stage"]})
        compared = [
            _side(cursor, part, chosen, names) for cursor, part, chosen in zip(cursors, units, served, strict=True)
        ]
        counts = [_known_defects(cursor, part) for cursor, part in zip(cursors, units, strict=True)]
    left_out = Counter(chosen_first.left_out) + Counter(chosen_second.left_out)
    return Compared(compared, names, dict(left_out), chosen_first.seen_from, counts)


def _known_defects(cursor: duckdb.DuckDBPyConnection, units: pl.DataFrame) -> dict[str, int]:
    """What is known to be wrong with the requests of a side, by the statement of all answers."""
    cursor.register("tail_units", units.select("unit_id", left_out=pl.lit(None, pl.String)))
    return rows(cursor, "quality/answer_units").row(0, named=True)


def _moment_ns(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is no time; write for example 2026-01-01T12:00:00Z", option="window", value=text
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000) * 1000


def _units(
    cursor: duckdb.DuckDBPyConnection, side: Selected, goal: SloSet, where: str | None, *, seen_from: str | None = None
) -> tuple[pl.DataFrame, SelectedRequests]:
    conditions = [f"({part}\n)" for part in (side.where, where) if part is not None]
    where = " AND ".join(conditions) or None
    selected = judge_requests(cursor, goal, where=where, seen_from=seen_from, messages="aside")
    units = rows(cursor, "compare/units")
    if side.server is None:
        return units, selected
    what, value = side.server
    create_table(cursor, "goodput_servers", "goodput/servers", {})
    served = rows(cursor, "goodput/server_values", {"what": what})
    of_server = served.filter(pl.col("value") == value)
    return units.join(of_server, on="unit_id", how="semi", maintain_order="left"), selected


def _register_served(cursor: duckdb.DuckDBPyConnection, units: pl.DataFrame) -> pl.DataFrame:
    served = units.filter(pl.col("e2e_ns").is_not_null()).with_row_index("position")
    cursor.register("compared_units", served.select("unit_id", "position"))
    return served


def _side(
    cursor: duckdb.DuckDBPyConnection, units: pl.DataFrame, served: pl.DataFrame, names: list[str]
) -> ComparedSide:
    numbers = pl.DataFrame(
        {"stage": names, "stage_no": range(len(names))}, schema={"stage": pl.String, "stage_no": pl.Int32}
    )
    cursor.register("compared_stages", numbers)
    times = rows(cursor, "compare/stage_times")
    windows = [times.filter(pl.col("window_no") == number) for number in range(3)]
    return ComparedSide(units, served, [_arrays(window) for window in windows])


def _arrays(times: pl.DataFrame) -> StageTimes:
    return StageTimes(*(times[name].cast(pl.Int64).to_numpy() for name in ("position", "stage_no", "self_ns")))


def _joined(windows: list[StageTimes]) -> StageTimes:
    parts = ([getattr(window, name) for window in windows] for name in ("position", "stage", "self_ns"))
    return StageTimes(*(np.concatenate(part) for part in parts))
