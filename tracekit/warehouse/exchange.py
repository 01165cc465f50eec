"""Batches in files that one task writes and others read: the exchange between the steps of a build.

A file holds Arrow streams one behind the other; whoever wrote it says where each lies. Names are those of an attempt,
so what a task left that was killed is read by nobody.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from tracekit.records import SCHEMAS, Batch

_COMPRESSED = ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A batch in a file: each table that has rows, and the byte at which its stream begins."""

    path: str
    offsets: Mapping[str, int]


class StretchWriter:
    """Writes batches to a new file of a folder, one behind the other; use it as a context manager."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}-{secrets.token_hex(8)}.arrows"
        self._stream = pa.OSFile(str(self.path), "wb")

    def write(self, batch: Batch) -> Stretch:
        """Append a batch."""
        tables = {name: getattr(batch, name) for name in SCHEMAS}
        offsets = {name: self._append(table) for name, table in tables.items() if table.num_rows}
        return Stretch(str(self.path), offsets)

    def _append(self, table: pa.Table) -> int:
        offset = self._stream.tell()
        with ipc.new_stream(self._stream, table.schema, options=_COMPRESSED) as stream:
            stream.write_table(table)
        return int(offset)

    def __enter__(self) -> StretchWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()


def read_stretch(stretch: Stretch) -> Batch:
    """The batch that was written."""
    with pa.memory_map(stretch.path) as source:
        return Batch.of(**{name: _read(source, offset) for name, offset in stretch.offsets.items()})


def _read(source: pa.MemoryMappedFile, offset: int) -> pa.Table:
    source.seek(offset)
    with ipc.open_stream(source) as stream:
        return stream.read_all().combine_chunks()
