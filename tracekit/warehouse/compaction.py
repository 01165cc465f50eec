"""Small parts of many increments put together: the files of each table behind each other, as they are.

Nothing is built anew and no number changes, so every answer stays the same. Parts that follow each other in time go
together, which keeps each of them short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tracekit.store import Database
from tracekit.warehouse.files import put_together
from tracekit.warehouse.manifest import Part

RECORDS_OF_A_PART = 200_000
"""Records that a part gets where nobody says how many parts there shall be: a worker takes about 1.4 GiB for them."""
MOST_SMALL_PARTS = 16
"""Parts of less than half as many that a build leaves as they are; when there are more, it puts them together."""


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Parts to put together as one of a new number."""

    number: int
    folder: str
    parts: tuple[Part, ...]


def groups_to_merge(parts: Iterable[Part], *, most_small: int) -> list[tuple[Part, ...]]:
    """Small parts that go together, where there are more than so many."""
    small = [part for part in parts if part.row_count < RECORDS_OF_A_PART // 2]
    if len(small) <= most_small:
        return []
    groups: list[list[Part]] = []
    for part in sorted(small, key=_time):
        if not groups or sum(each.row_count for each in groups[-1]) + part.row_count > RECORDS_OF_A_PART:
            groups.append([])
        groups[-1].append(part)
    return [tuple(group) for group in groups if len(group) > 1]


def _time(part: Part) -> tuple[bool, int, int]:
    return part.first_ns is None, part.first_ns or 0, part.number


def merge_parts(task: MergeTask) -> Part:
    """Write the files of several parts as those of one."""
    parts = sorted(task.parts, key=lambda part: part.number)
    tables = dict.fromkeys(file.table for part in parts for file in part.files)
    folder = Path(task.folder)
    with Database.beside_files(folder) as database, closing(database.cursor()) as cursor:
        files = tuple(
            put_together(
                cursor,
                folder,
                table,
                [file for part in parts for file in part.files if file.table == table],
                name=f"{task.number:06d}",
            )
            for table in tables
        )
    return Part(task.number, "spans", files, *_bounds(parts), any(part.has_jobs for part in parts))


def _bounds(parts: Sequence[Part]) -> tuple[int | None, int | None]:
    """The time of the spans of parts, unknown where that of one with spans is."""
    of_spans = [part for part in parts if any(file.table == "spans" for file in part.files)]
    first = [part.first_ns for part in of_spans if part.first_ns is not None]
    last = [part.last_ns for part in of_spans if part.last_ns is not None]
    if not first or len(first) < len(of_spans) or len(last) < len(of_spans):
        return None, None
    return min(first), max(last)
