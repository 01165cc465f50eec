"""The second step of a build: batches dealt to the parts, whole traces and whole requests to one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import feather

from tracekit.records import RECORD_TABLES, Batch, selected
from tracekit.warehouse.exchange import Stretch, StretchWriter, read_stretch
from tracekit.warehouse.grouping import parts_of

_HOUR_NS = 3_600_000_000_000
Parts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SplitTask:
    """A batch of a source to deal to so many parts; `groups` is the file with the traces that belong together."""

    ingest_id: int
    batch_no: int
    whole: Stretch
    groups: str
    part_count: int
    folder: str


@dataclass(frozen=True, slots=True)
class Slice:
    """What a part gets of a batch. Slices in order of their numbers are in order of arrival."""

    ingest_id: int
    batch_no: int
    records: Stretch


def split(task: SplitTask) -> dict[int, Slice]:
    """The slice of each part that gets something."""
    batch = read_stretch(task.whole)
    if task.part_count == 1:
        return {0: Slice(task.ingest_id, task.batch_no, task.whole)}
    parts = _parts(batch, feather.read_table(task.groups), task.part_count)
    with StretchWriter(Path(task.folder), "split") as writer:
        return {
            part: Slice(task.ingest_id, task.batch_no, writer.write(selected(batch, rows, with_keys=True)))
            for part, rows in _dealt(parts, task.part_count)
        }


def _dealt(parts: dict[str, Parts], part_count: int) -> Iterator[tuple[int, dict[str, Parts]]]:
    """The rows of each table of records that each part gets, for parts that get any."""
    for part in range(part_count):
        rows = {name: np.flatnonzero(of_row == part) for name, of_row in parts.items()}
        if any(each.size for each in rows.values()):
            yield part, rows


def _parts(batch: Batch, groups: pa.Table, part_count: int) -> dict[str, Parts]:
    """The part of each record. Records that are the same go to the same part, for there they are found to be."""
    streams = _of_streams(batch.metric_streams, part_count)
    found = {name: streams[_numbers(getattr(batch, name)["stream_row"])] for name in RECORD_TABLES[1:4]}
    found["spans"] = parts_of(batch.spans["trace_id"].combine_chunks(), groups, part_count)
    times = batch.logs["time_ns"].fill_null(0).to_numpy() // _HOUR_NS
    return found | {"logs": times % part_count}


def _of_streams(streams: pa.Table, part_count: int) -> Parts:
    """By the name alone: the same series has the same, in whatever order its attributes came."""
    return np.array([zlib.crc32(name.encode()) % part_count for name in streams["name"].to_pylist()], np.int64)


def _numbers(column: pa.ChunkedArray) -> Parts:
    return column.to_numpy().astype(np.int64)
