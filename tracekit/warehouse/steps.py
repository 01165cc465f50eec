"""The steps of a build, each a list of tasks for an engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pyarrow import feather

from tracekit.ingest import Source
from tracekit.store import Database
from tracekit.warehouse.carving import Held, carve, find_touched
from tracekit.warehouse.columns import DIMENSION_TABLES, RECORD_TABLES
from tracekit.warehouse.compaction import (
    MOST_SMALL_PARTS,
    RECORDS_OF_A_PART,
    MergeTask,
    groups_to_merge,
    merge_parts,
)
from tracekit.warehouse.decoding import DecodedSource, DecodeTask, decode_source
from tracekit.warehouse.dimensions import add_senders
from tracekit.warehouse.engines import Engine
from tracekit.warehouse.exchange import read_stretch
from tracekit.warehouse.files import exported
from tracekit.warehouse.grouping import Groups
from tracekit.warehouse.lookback import LookBack
from tracekit.warehouse.manifest import Manifest, Part, SourceEntry
from tracekit.warehouse.parts import BuiltPart, PartTask, build_part
from tracekit.warehouse.progress import Shares
from tracekit.warehouse.reading import load, paths
from tracekit.warehouse.splitting import Slice, SplitTask, split


@dataclass(frozen=True)
class Steps:
    """The steps of one build into a folder."""

    folder: Path
    staging: Path
    engine: Engine
    old: Manifest
    part_count: int | None
    shares: Shares
    look_back: LookBack
    is_compacting: bool

    def decode(self, sources: Sequence[Source]) -> list[DecodedSource]:
        """Every source to batches, a task a source."""
        late_before_ns = self.look_back.late_before_ns(self.old)
        tasks = [DecodeTask(source, str(self.staging), late_before_ns) for source in sources]
        return self.engine.run(decode_source, tasks, done=self.shares.decoded)

    def number_senders(self, decoded: Sequence[DecodedSource], *, number: int) -> Part:
        """Number who sent the batches behind those known before, and write all of them."""
        batches = (read_stretch(batch.senders) for each in decoded for batch in each.batches)
        with Database.beside_files(self.folder) as database:
            with database.transaction() as cursor:
                for table in DIMENSION_TABLES:
                    load(cursor, table, paths(self.folder, self.old, table))
            add_senders(database, batches)
            with closing(database.cursor()) as cursor:
                files = exported(cursor, self.folder, DIMENSION_TABLES, name=f"{number:06d}")
        return Part(number, "dimensions", files)

    def build_parts(
        self,
        decoded: Sequence[DecodedSource],
        sources: Sequence[SourceEntry],
        dimensions: Part,
        *,
        first_number: int,
    ) -> tuple[list[BuiltPart], list[Part]]:
        """New parts of what is new and of the requests and jobs that it touches, and the old parts without these."""
        near = self.look_back.near(self.old, {hours for each in decoded for hours in each.hours})
        traces, names = [each.traces for each in decoded], [each.names for each in decoded]
        held = find_touched(self.folder, near, self.old, traces, names)
        slices = self._split(decoded, sources, held.groups, part_count := self._parts(decoded, held))
        carved = carve(self.engine, self.folder, self.staging, self.old, held, part_count)
        tasks = [
            PartTask(
                number=first_number + place,
                folder=str(self.folder),
                slices=tuple(slices[part]),
                sources=tuple(sources),
                dimensions={file.table: [str(self.folder / file.path)] for file in dimensions.files},
                crowded=held.groups.crowded,
                old_spans=carved.moved.get(part, {}),
                old_records={table: paths(self.folder, self.old, table) for table in RECORD_TABLES},
                first_new_id=self.old.last_ingest_id + 1,
                thread_count=self.engine.thread_count,
            )
            for place, part in enumerate(sorted({*slices, *carved.moved}))
        ]
        return self.engine.run(build_part, tasks, done=self.shares.of_parts(max(1, len(tasks)))), list(carved.kept)

    def to_merge(self, parts: Iterable[Part]) -> list[tuple[Part, ...]]:
        """Small parts to put together: always when that is asked for, else when there are many."""
        return groups_to_merge(parts, most_small=1 if self.is_compacting else MOST_SMALL_PARTS)

    def merged(self, parts: Sequence[Part], *, first_number: int) -> list[Part]:
        """The parts, with the small ones among them put together under new numbers."""
        groups = self.to_merge(parts)
        tasks = [MergeTask(number, str(self.folder), group) for number, group in enumerate(groups, first_number)]
        gone = {part.number for group in groups for part in group}
        return [*(part for part in parts if part.number not in gone), *self.engine.run(merge_parts, tasks)]

    def _parts(self, decoded: Sequence[DecodedSource], held: Held) -> int:
        """How many parts the records are dealt to."""
        records = held.span_count + sum(batch.record_count for each in decoded for batch in each.batches)
        return self.part_count or max(1, -(-records // RECORDS_OF_A_PART))

    def _split(
        self,
        decoded: Sequence[DecodedSource],
        sources: Sequence[SourceEntry],
        groups: Groups,
        part_count: int,
    ) -> defaultdict[int, list[Slice]]:
        """The slices of each part, a task a batch."""
        path = str(self.staging / "groups.arrow")
        feather.write_feather(groups.members, path)
        numbers = {entry.name: entry.ingest_id for entry in sources[len(self.old.sources) :]}
        tasks = [
            SplitTask(number, batch_no, batch.whole, path, part_count, str(self.staging))
            for each in decoded
            if (number := numbers.get(each.source.name)) is not None
            for batch_no, batch in enumerate(each.batches)
        ]
        slices: defaultdict[int, list[Slice]] = defaultdict(list)
        for found in self.engine.run(split, tasks):
            for part, of_part in found.items():
                slices[part].append(of_part)
        return slices
