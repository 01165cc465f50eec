"""The normal time of each stage: its median over good requests like each other, those without it counted as zero."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import polars as pl

from tracekit.analysis.temporary import create_table, rows

LEVELS = (1, 64, 4096)
"""Bins whose numbers agree after division by this are like each other: same sizes, same input size, same population."""

ENOUGH_GOOD = 5
"""Fewer good requests than this have no median worth comparing with, unless there are no more in all."""

_WINDOWS = {"ttft": "ttft", "tpot": "decode"}
_STAGES_AT_ONCE = 16
"""Stages whose times are held for all requests at a time."""

NORMAL_SCHEMA = {"group_no": pl.Int64, "term": pl.String, "stage": pl.String, "normal_ns": pl.Float64}


def register_normals(cursor: duckdb.DuckDBPyConnection) -> None:
    """Leave `late_groups` (`bin_no`, `group_no`) and `goodput_normals` (NORMAL_SCHEMA) on the cursor.

    Reads the tables `judged_requests` and `late_terms`. A late bin is compared with the first group that has enough
    good requests: its own bin, the same input tokens, the same population, all. Bins without any are in no group.
    """
    good = rows(cursor, "goodput/good_requests").sort("bin_no")
    late_bins = rows(cursor, "goodput/late_bins")["bin_no"].to_numpy()
    groups = _groups(good["bin_no"].to_numpy(), late_bins)
    compared = {bin_no: number for number, (_, _, bins) in enumerate(groups) for bin_no in bins}
    late_groups = pl.DataFrame({"bin_no": list(compared), "group_no": list(compared.values())}, schema=_PAIRS)
    cursor.register("late_groups", late_groups)
    normals = pl.concat([pl.DataFrame(schema=NORMAL_SCHEMA), *_normals(cursor, good, groups)])
    cursor.register("goodput_normals", normals)


_PAIRS = {"bin_no": pl.Int64, "group_no": pl.Int64}
_Group = tuple[int, int, list[int]]


def _groups(good_bins: np.ndarray, late_bins: np.ndarray) -> list[_Group]:
    """Runs `[first, last)` of the good requests in order of bin, and the late bins that are compared with each."""
    if not len(good_bins):
        return []
    found: dict[tuple[int, int], list[int]] = {}
    left = late_bins
    for divisor in LEVELS:
        edges = [np.searchsorted(good_bins // divisor, left // divisor, side=side) for side in ("left", "right")]
        is_enough = edges[1] - edges[0] >= ENOUGH_GOOD
        for bin_no, first, last in zip(*(part[is_enough].tolist() for part in (left, *edges)), strict=True):
            found.setdefault((first, last), []).append(bin_no)
        left = left[~is_enough]
    if len(left):
        found.setdefault((0, len(good_bins)), []).extend(left.tolist())
    return [(first, last, bins) for (first, last), bins in found.items()]


def _normals(cursor: duckdb.DuckDBPyConnection, good: pl.DataFrame, groups: list[_Group]) -> Iterator[pl.DataFrame]:
    terms = rows(cursor, "goodput/missed_terms")["term"].to_list()
    if not terms or not groups:
        return
    cursor.register("good_positions", good.select("unit_id").with_row_index("position"))
    create_table(cursor, "stage_numbers", "goodput/stage_numbers", {})
    windows = None if "e2e" in terms else [_WINDOWS[term] for term in terms]
    times = rows(cursor, "goodput/good_stage_times", {"windows": windows})
    names = cursor.sql("SELECT stage FROM stage_numbers ORDER BY stage_no").pl()["stage"].to_list()
    gaps = np.maximum(good["gap_count"].fill_null(0).to_numpy(), 0)
    for term in terms:
        chosen = times if term == "e2e" else times.filter("is_ttft" if term == "ttft" else "is_decode")
        yield _medians(chosen, term, names, groups, gaps)


def _medians(times: pl.DataFrame, term: str, names: list[str], groups: list[_Group], gaps: np.ndarray) -> pl.DataFrame:
    """Medians that are not zero, of one term (NORMAL_SCHEMA)."""
    position, stage, self_ns = (times[name].to_numpy() for name in ("position", "stage", "self_ns"))
    found = []
    for first_stage in range(0, len(names), _STAGES_AT_ONCE):
        width = min(_STAGES_AT_ONCE, len(names) - first_stage)
        chosen = (stage >= first_stage) & (stage < first_stage + width)
        cells = position[chosen].astype(np.int64) * width + stage[chosen] - first_stage
        spent = np.bincount(cells, self_ns[chosen], minlength=len(gaps) * width).reshape(-1, width)
        if term == "tpot":
            spent = np.where(gaps[:, None] > 0, spent / np.maximum(gaps, 1)[:, None], 0.0)
        for number, (first, last, _) in enumerate(groups):
            medians = np.median(spent[first:last], axis=0)
            found += [(number, term, names[first_stage + k], medians[k]) for k in np.flatnonzero(medians).tolist()]
    return pl.DataFrame(found, schema=NORMAL_SCHEMA, orient="row")
