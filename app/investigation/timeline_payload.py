"""A trace as the timeline takes it: columns in one block of bytes, each text once. Pure: frames in, bytes out."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import polars as pl

from tracekit.charts import WAITING_STAGES, stage_colour
from tracekit.foreign import LONGEST_NAME, named, plain_frame

_ALIGNED_BYTES = 8
_ID_BYTES = 32
_CODED = {"label": "labels", "sender": "senders", "owner": "owners", "note": "notes"}
_FLAGS = ("is_virtual", "is_error", "is_orphan", "is_linked")
_PLACES = {"last": "last_row", "depth": "depth"}


def packed(
    bars: pl.DataFrame,
    segments: pl.DataFrame,
    *,
    title: str,
    events: pl.DataFrame,
    links: pl.DataFrame,
    points: pl.DataFrame,
    picked: int | None = None,
    is_collapsed: bool = False,
) -> bytes:
    """Bars and segments of `investigation.waterfall` with what else is drawn, for `app/timeline`.

    `events` has `row`, `time_ns`, `name`; `links` `row` and `linked_row` (null where that span is not here); `points`
    the counters, `series`, `unit`, `time_ns`, `value`. All times are offsets in nanoseconds from the start of the
    trace: exact in a browser's numbers up to 104 days. Texts come out plain: nothing in them acts.
    """
    bars, segments = bars.sort("row"), segments.sort("row", "start_ns")
    bars = bars.with_columns(is_linked=pl.col("row").is_in(pl.concat([links["row"], links["linked_row"]]).implode()))
    columns, texts = _bar_columns(bars)
    stages = _by_time(segments, bars)
    tracks, point_columns = _tracks(points)
    columns |= _segment_columns(segments, stages) | _moment_columns(events, links) | point_columns
    columns["stage"] = _codes(bars["stage"], stages)
    lanes, columns["path_segment"] = _paths(bars, segments)
    header = texts | {
        "title": named(title),
        "stages": _stages(stages, set(segments["stage"])),
        "total_ns": int(max([*bars["end_ns"], *segments["end_ns"]], default=0)),
        "tracks": tracks,
        "paths": lanes,
        "picked": -1 if picked is None else picked,
        "is_collapsed": is_collapsed,
    }
    return _block(header, columns)


def _by_time(segments: pl.DataFrame, bars: pl.DataFrame) -> pl.Series:
    """The stages, those that own the most time first."""
    owned = segments.group_by("stage").agg(owned_ns=(pl.col("end_ns") - pl.col("start_ns")).sum())
    named_first = owned.sort("owned_ns", "stage", descending=[True, False])["stage"]
    return pl.concat([named_first, bars["stage"]]).unique(maintain_order=True)


def _bar_columns(bars: pl.DataFrame) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    columns = {"start": _f8(bars["start_ns"]), "end": _f8(bars["end_ns"]), "shift": _f8(bars["shift_ns"])}
    columns |= {name: bars[column].to_numpy().astype("<u4") for name, column in _PLACES.items()}
    columns |= {name: bars[name].to_numpy().astype("u1") for name in _FLAGS}
    texts = {}
    shown = plain_frame(bars.select(pl.col(list(_CODED)).fill_null("")), longest=LONGEST_NAME)
    for name, plural in _CODED.items():
        distinct = shown[name].unique(maintain_order=True)
        columns[name], texts[plural] = _codes(shown[name], distinct), distinct.to_list()
    return columns, texts


def _segment_columns(segments: pl.DataFrame, stages: pl.Series) -> dict[str, np.ndarray]:
    return {
        "seg_row": segments["row"].to_numpy().astype("<u4"),
        "seg_start": _f8(segments["start_ns"]),
        "seg_end": _f8(segments["end_ns"]),
        "seg_stage": _codes(segments["stage"], stages),
    }


def _moment_columns(events: pl.DataFrame, links: pl.DataFrame) -> dict[str, np.ndarray]:
    events = events.sort("row", "time_ns")
    return {
        "event_row": events["row"].to_numpy().astype("<u4"),
        "event_ns": _f8(events["time_ns"]),
        "event_is_error": (events["name"] == "exception").to_numpy().astype("u1"),
        "link_from": links["row"].to_numpy().astype("<i4"),
        "link_to": links["linked_row"].fill_null(-1).to_numpy().astype("<i4"),
    }


def _paths(bars: pl.DataFrame, segments: pl.DataFrame) -> tuple[list[list[int]], np.ndarray]:
    """The segments of each tree in order of time: who owned the time after whom."""
    roots = bars.filter(depth=0).select(pl.col("row"), root="row")
    numbered = segments.with_row_index("number").join_asof(roots, on="row").sort("root", "start_ns", "end_ns")
    counts = numbered.group_by("root", maintain_order=True).len()["len"].to_list()
    ends = np.cumsum([0, *counts]).tolist()
    return [list(ends[at : at + 2]) for at in range(len(counts))], numbered["number"].to_numpy().astype("<u4")


def _tracks(points: pl.DataFrame) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """A track a series, and its points in order of time."""
    points = points.filter(pl.col("value").is_finite()).sort("series", "time_ns", maintain_order=True)
    tracks: list[dict[str, Any]] = []
    for (series, unit), part in points.group_by("series", "unit", maintain_order=True):
        begin = tracks[-1]["to"] if tracks else 0
        bounds = {"least": part["value"].min(), "most": part["value"].max()}
        label = {"label": named(str(series)), "unit": named(str(unit or ""))}
        tracks.append({**label, **bounds, "from": begin, "to": begin + part.height})
    return tracks, {"point_ns": _f8(points["time_ns"]), "point_value": _f8(points["value"])}


def _stages(stages: pl.Series, owners: set[str]) -> list[dict[str, Any]]:
    return [
        {
            "name": named(stage),
            "colour": stage_colour(stage),
            "is_waiting": stage in WAITING_STAGES,
            "is_owner": stage in owners,
        }
        for stage in stages
    ]


def _codes(texts: pl.Series, distinct: pl.Series) -> np.ndarray:
    """The place of each text among the distinct ones."""
    places = pl.DataFrame({"text": distinct}).with_row_index("code")
    found = texts.rename("text").to_frame().join(places, on="text", how="left", maintain_order="left")
    return found["code"].to_numpy().astype(_narrowest(len(distinct)))


def _narrowest(count: int) -> str:
    """The smallest unsigned type that numbers so many things."""
    return "u1" if count <= 1 << 8 else "<u2" if count <= 1 << 16 else "<u4"


def _f8(values: pl.Series) -> np.ndarray:
    return values.to_numpy().astype("<f8")


def _block(header: dict[str, Any], columns: dict[str, np.ndarray]) -> bytes:
    """The length of the header, an id of the content, the header, and the columns at multiples of eight bytes."""
    places, parts, offset = {}, [], 0
    for name, column in columns.items():
        places[name] = [column.dtype.str[1:], offset, len(column)]
        part = _padded(column.tobytes())
        parts.append(part)
        offset += len(part)
    text = _padded(json.dumps(header | {"columns": places}, ensure_ascii=False).encode(), filler=b" ")
    content = hashlib.blake2b(b"".join([text, *parts]), digest_size=_ID_BYTES // 2).hexdigest().encode()
    length = len(text).to_bytes(4, "little") + bytes(4)
    return b"".join([length, content, text, *parts])


def _padded(part: bytes, filler: bytes = b"\0") -> bytes:
    return part + filler * (-len(part) % _ALIGNED_BYTES)
