"""The third step of a build: the slices of a part to spans, units and records, by a store in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pyarrow import compute

from tracekit import queries
from tracekit.stages import MOST_TRACES, update_units
from tracekit.store import Database, IngestWriter, WriteCounts
from tracekit.warehouse.columns import RECORD_TABLES, SPAN_TABLES
from tracekit.warehouse.exchange import read_stretch
from tracekit.warehouse.files import export
from tracekit.warehouse.manifest import DataFile, Part, SourceEntry
from tracekit.warehouse.reading import load, note_sources
from tracekit.warehouse.splitting import Slice

UNITS_OF_A_PART = 1 << 32
"""More units than a part has: the numbers of a part's units begin at its number times this."""
_ARRIVED = ("spans", "span_events", "span_links")


@dataclass(frozen=True, slots=True)
class PartTask:
    """A part to build.

    sources: every source of the warehouse, by number. dimensions: files of the dimensions. crowded: names of requests
    that too many traces have. old_spans: files of spans that are built before and belong to traces of this part.
    old_records: files of records that new ones may repeat.
    """

    number: int
    folder: str
    slices: tuple[Slice, ...]
    sources: tuple[SourceEntry, ...]
    dimensions: Mapping[str, list[str]]
    crowded: tuple[str, ...]
    old_spans: Mapping[str, list[str]]
    old_records: Mapping[str, list[str]]
    first_new_id: int
    thread_count: int


@dataclass(frozen=True, slots=True)
class BuiltPart:
    """The files of a part, and what became of the records of each source in it."""

    part: Part
    counts: Mapping[int, WriteCounts]


def build_part(task: PartTask) -> BuiltPart:
    """Store the slices of a part as an ingest does, make the units, and write what there is to files."""
    tuning = {"threads": str(task.thread_count)}
    with Database.beside_files(Path(task.folder), tuning=tuning) as database:
        _prepare(database, task)
        counts = _written(database, task)
        update_units(database, with_jobs=False)
        with closing(database.cursor()) as cursor:
            files = tuple(_files(cursor, task))
            ((first_ns, last_ns, has_jobs),) = cursor.execute(queries.text("warehouse/part_facts")).fetchall()
    return BuiltPart(Part(task.number, "spans", files, first_ns, last_ns, has_jobs), counts)


def _prepare(database: Database, task: PartTask) -> None:
    """Lay down what the records of the part meet: sources, senders, and what was built before."""
    with database.transaction() as cursor:
        note_sources(cursor, task.sources)
        for table, files in (*task.dimensions.items(), *task.old_spans.items()):
            load(cursor, table, files)
        for table, files in task.old_records.items():
            if files and (times := _times(table, task.slices)):
                column = "coalesce(time_ns, 0)" if table == "logs" else "time_ns"
                load(cursor, table, files, where=f"{column} BETWEEN {times[0]} AND {times[1]}")
        _crowd(cursor, task.crowded)


def _times(table: str, slices: tuple[Slice, ...]) -> tuple[int, int] | None:
    """The earliest and the latest time of the records of a table in slices, None without any."""
    columns = [getattr(read_stretch(each.records), table)["time_ns"].fill_null(0) for each in slices]
    bounds = [compute.min_max(column).as_py() for column in columns if len(column)]
    return (min(each["min"] for each in bounds), max(each["max"] for each in bounds)) if bounds else None


def _crowd(cursor: duckdb.DuckDBPyConnection, names: tuple[str, ...]) -> None:
    """Let names be known as those of too many traces, though few of these are in this part."""
    statement = (
        "INSERT INTO base.request_ids SELECT name, md5(name || ' ' || number)::UUID, 0, 0 "
        "FROM (SELECT unnest($names) AS name) CROSS JOIN (SELECT range AS number FROM range($count))"
    )
    if names:
        cursor.execute(statement, {"names": list(names), "count": MOST_TRACES + 1})


def _written(database: Database, task: PartTask) -> dict[int, WriteCounts]:
    writers: dict[int, IngestWriter] = {}
    names = {entry.ingest_id: entry for entry in task.sources}
    for each in sorted(task.slices, key=lambda part: (part.ingest_id, part.batch_no)):
        writer = writers.get(each.ingest_id)
        if writer is None:
            entry = names[each.ingest_id]
            writer = writers[each.ingest_id] = IngestWriter(database, source=entry.name, format=entry.format)
            writer.ingest_id = each.ingest_id
        writer.write(read_stretch(each.records))
    return {number: writer.counts for number, writer in writers.items()}


def _files(cursor: duckdb.DuckDBPyConnection, task: PartTask) -> Iterator[DataFile]:
    """Write every table that has rows of this part."""
    conditions = dict.fromkeys(RECORD_TABLES, f"ingest_id >= {task.first_new_id}")
    conditions["request_ids"] = "trace_id IN (SELECT trace_id FROM base.spans)"
    for table in (*SPAN_TABLES, *RECORD_TABLES):
        file = export(
            cursor,
            Path(task.folder),
            table,
            name=f"{task.number:06d}",
            where=conditions.get(table, "TRUE"),
            first_unit_id=task.number * UNITS_OF_A_PART,
        )
        if file is not None:
            yield file
