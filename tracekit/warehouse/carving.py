"""What a build takes out of the parts that are there: requests and jobs of which something new arrived.

They are built anew as wholes, from what was stored of them and what is new; the parts that held them are written
again without them, and everything else stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pyarrow as pa
from pyarrow import compute, feather

from tracekit import queries
from tracekit.store import Database
from tracekit.warehouse.columns import SPAN_TABLES
from tracekit.warehouse.engines import Engine
from tracekit.warehouse.files import export
from tracekit.warehouse.grouping import Groups, groups_of, parts_of
from tracekit.warehouse.manifest import DataFile, Manifest, Part
from tracekit.warehouse.names import Names, all_names, pairs_of
from tracekit.warehouse.reading import opened

_ARRIVED = ("spans", "span_events", "span_links")
_OF_UNITS = ("unit_stages", "step_waits", "step_lead_ins", "step_collectives")
_TOUCHED = "coalesce(trace_id IN (SELECT trace_id FROM touched), FALSE)"
_PORTABLE_IDS = "lower(hex(trace_id))::UUID"


@dataclass(frozen=True, slots=True)
class Held:
    """What a warehouse holds of requests and jobs that are touched.

    groups: traces that belong together, old and new. touched: `trace_id` of all traces that are built now. span_count:
    spans of them that are stored. near: the old parts that may have some.
    """

    groups: Groups
    touched: pa.Table
    span_count: int
    near: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class CarveTask:
    """An old part, the files with the touched traces and the groups, and to how many parts those are dealt."""

    part: Part
    folder: str
    staging: str
    touched: str
    groups: str
    part_count: int


@dataclass(frozen=True, slots=True)
class Carved:
    """A part without what is touched, and the files of what was taken out: by new part and table."""

    kept: Part
    moved: Mapping[int, Mapping[str, str]]


@dataclass(slots=True)
class Carving:
    """All old parts, and the files that each new part takes over: by part and table."""

    kept: list[Part] = field(default_factory=list)
    moved: defaultdict[int, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, carved: Carved) -> None:
        """Add what became of one part; one of which nothing is left is none."""
        if carved.kept.files:
            self.kept.append(carved.kept)
        for part, files in carved.moved.items():
            for table, path in files.items():
                self.moved[part].setdefault(table, []).append(path)


def find_touched(
    folder: Path, near: tuple[Part, ...], old: Manifest, traces: Sequence[pa.Table], names: Sequence[Names]
) -> Held:
    """The traces of near parts that new spans touch: their own, and those that belong together with them."""
    new = pa.concat_tables(traces).group_by(["trace_id"]).aggregate([]) if traces else pa.table({"trace_id": []})
    looked_at = Manifest(parts=(*near, *old.of_kind("dimensions")))
    if not any(looked_at.files("spans")):
        return Held(groups_of(all_names(names)), new, 0)
    with opened(folder, looked_at) as database, closing(database.cursor()) as cursor:
        known = Names(*(pairs_of(cursor.sql(queries.text(f"warehouse/known_{kind}"))) for kind in ("requests", "jobs")))
        groups = groups_of(all_names([known, *names]))
        touched = _touched(new, groups.members)
        _register(cursor, touched)
        (count,) = cursor.execute(f"SELECT count(*) FROM base.spans WHERE {_TOUCHED}").fetchall()[0]
        return Held(groups, touched, count, near)


def _touched(new: pa.Table, members: pa.Table) -> pa.Table:
    """New traces, and all of the groups that have one."""
    if not new.num_rows or not members.num_rows:
        return new
    standing = members.filter(compute.is_in(members["trace_id"], value_set=new["trace_id"].combine_chunks()))
    of_groups = members.filter(compute.is_in(members["group"], value_set=standing["group"].combine_chunks()))
    both = pa.concat_tables([new, of_groups.select(["trace_id"])])
    return both.group_by(["trace_id"]).aggregate([])


def _register(cursor: duckdb.DuckDBPyConnection, touched: pa.Table) -> None:
    cursor.register("touched_in", touched)
    cursor.execute(f"CREATE TEMP TABLE touched AS SELECT * REPLACE ({_PORTABLE_IDS} AS trace_id) FROM touched_in")


def carve(engine: Engine, folder: Path, staging: Path, old: Manifest, held: Held, part_count: int) -> Carving:
    """Take what is touched out of every old part that has some of it."""
    carving = Carving()
    parts = held.near if held.span_count else ()
    carving.kept += [part for part in old.of_kind("spans") if part not in parts]
    if not parts:
        return carving
    touched, groups = str(staging / "touched.arrow"), str(staging / "groups.arrow")
    feather.write_feather(held.touched, touched)
    tasks = [CarveTask(part, str(folder), str(staging), touched, groups, part_count) for part in parts]
    for carved in engine.run(carve_part, tasks):
        carving.add(carved)
    carving.kept.sort(key=lambda part: part.number)
    return carving


def carve_part(task: CarveTask) -> Carved:
    """Write a part without what is touched, and that beside, for the parts that it goes to."""
    touched = feather.read_table(task.touched)
    ids = touched["trace_id"].combine_chunks()
    to_parts = pa.array(parts_of(ids, feather.read_table(task.groups), task.part_count))
    with _of_part(task) as database, closing(database.cursor()) as cursor:
        _register(cursor, touched.append_column("part", to_parts))
        if not cursor.execute(f"SELECT 1 FROM base.spans WHERE {_TOUCHED} LIMIT 1").fetchall():
            return Carved(task.part, {})
        kept = replace(task.part, files=tuple(_kept(cursor, task)))
        return Carved(kept, dict(_moved(cursor, task)))


def _of_part(task: CarveTask) -> Database:
    return opened(Path(task.folder), Manifest(parts=(task.part,)))


def _kept(cursor: duckdb.DuckDBPyConnection, task: CarveTask) -> Iterator[DataFile]:
    """The files of records as they are, those of spans and units without what is touched."""
    yield from (file for file in task.part.files if file.table not in SPAN_TABLES)
    gone_units = f"unit_id IN (SELECT unit_id FROM base.units WHERE {_TOUCHED})"
    for table in SPAN_TABLES:
        gone = gone_units if table in _OF_UNITS else _TOUCHED
        file = export(cursor, Path(task.folder), table, name=f"{task.part.number:06d}", where=f"NOT {gone}")
        if file is not None:
            yield file


def _moved(cursor: duckdb.DuckDBPyConnection, task: CarveTask) -> Iterator[tuple[int, dict[str, str]]]:
    staging = Path(task.staging)
    for (part,) in cursor.execute("SELECT DISTINCT part FROM touched ORDER BY part").fetchall():
        where = f"trace_id IN (SELECT trace_id FROM touched WHERE part = {part})"
        files = [export(cursor, staging, table, name=f"moved-{part}", where=where) for table in _ARRIVED]
        if found := {file.table: str(staging / file.path) for file in files if file is not None}:
            yield part, found
