"""The manifest of a warehouse: what it names is the warehouse, and nothing else.

It is one JSON file that is exchanged as a whole, so a reader sees the warehouse before a build or after it. Data files
are never changed: a build writes new ones, and names them.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tracekit.errors import StoreError, StoreVersionError
from tracekit.store import Reject, WriteCounts

NAME = "manifest.json"
COUNTED_TABLES = ("spans", "metric_points", "metric_histograms", "metric_summaries", "logs")
"""Tables whose rows tell how much a part holds."""
TIMED_TABLES = ("spans", "units")
"""Tables that are asked by time: a file whose rows all begin at other times is not opened."""
FORMAT = "tracekit-warehouse"
VERSION = 1
"""Of the manifest and of the columns of the files; a reader refuses a newer one."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of one table."""

    table: str
    path: str
    """Where it lies in the folder of the warehouse, with `/` between the names."""
    rows: int
    size_bytes: int
    first_ns: int | None = None
    """Of `TIMED_TABLES`: when the first of its rows begins; None where nobody noted it."""
    last_ns: int | None = None
    """When the last of its rows begins."""


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are exchanged together; of `spans`: some whole requests, and some whole training jobs."""

    number: int
    kind: str
    """spans, dimensions or jobs."""
    files: tuple[DataFile, ...]
    first_ns: int | None = None
    """When the first of its spans begins, None where it has none, or where it was built before this was noted."""
    last_ns: int | None = None
    """When the last of its spans ends."""
    has_jobs: bool = True
    """Whether processes of training jobs may have spans in it."""

    @property
    def row_count(self) -> int:
        """Its spans and other records."""
        return sum(file.rows for file in self.files if file.table in COUNTED_TABLES)


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source that was read, what became of it, and how it is known again."""

    name: str
    size_bytes: int
    digest: str | None
    """SHA-256 of its bytes, for an object its entity tag; None for one that could not be read."""
    ingest_id: int | None
    """Its number in the columns `ingest_id`; None for one that brought nothing."""
    format: str | None
    received_ns: int
    counts: WriteCounts
    error: str | None = None
    is_skipped: bool = False
    modified_ns: int | None = None
    """When it had last been changed."""
    endpoint: str | None = None
    """URL of the store that has the object, None for that of Amazon."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a warehouse consists of."""

    commit: int = 0
    """How many builds have been committed."""
    next_part: int = 0
    schema_version: int = 0
    created_by: str = ""
    sources: tuple[SourceEntry, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def last_ingest_id(self) -> int:
        """The largest number of a source, 0 for none."""
        return max((entry.ingest_id or 0 for entry in self.sources), default=0)

    @property
    def newest_ns(self) -> int | None:
        """When the last span of all ends, None without any."""
        return max((part.last_ns for part in self.parts if part.last_ns is not None), default=None)

    def files(self, table: str) -> Iterator[DataFile]:
        """The files of a table, in order of their parts."""
        return (file for part in self.parts for file in part.files if file.table == table)

    def of_kind(self, kind: str) -> tuple[Part, ...]:
        """The parts of a kind."""
        return tuple(part for part in self.parts if part.kind == kind)


def located(folder: Path | str, path: str) -> str:
    """Where a file of the warehouse in a folder lies, or below a prefix of an object store."""
    return f"{folder}/{path}" if isinstance(folder, str) else str(folder.resolve() / path)


def is_warehouse(folder: Path) -> bool:
    """Whether a folder has a manifest."""
    return (folder / NAME).is_file()


def read(folder: Path) -> Manifest:
    """The manifest of the warehouse in a folder.

    Raises `StoreVersionError` for one of a newer tracekit, `StoreError` where there is none that can be read.
    """
    try:
        content = (folder / NAME).read_bytes()
    except FileNotFoundError as error:
        told = f"{folder} is a folder without {NAME}, so no warehouse; name one that `tracekit build` made, or a file"
        raise StoreError(told, path=folder) from error
    except OSError as error:
        raise StoreError(f"{folder / NAME} cannot be read: {error.strerror or error}", path=folder) from error
    return parsed(content, str(folder))


def parsed(content: bytes, where: str) -> Manifest:
    """The manifest in the bytes of a file in the folder, or below the prefix, `where`. Raises as `read`."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where}/{NAME} cannot be read as the manifest of a warehouse: {error}") from error
    return _checked(found, where)


def write(folder: Path, manifest: Manifest) -> None:
    """Exchange the manifest for another one; this is the commit of a build. Raises `OSError`."""
    content = {"format": FORMAT, "version": VERSION} | asdict(manifest)
    new = folder / f"{NAME}.{secrets.token_hex(8)}"
    try:
        with new.open("w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(folder / NAME)
    finally:
        new.unlink(missing_ok=True)
    _settle(folder)


def _settle(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked(content: Any, where: str) -> Manifest:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StoreError(f"{where}/{NAME} is not the manifest of a warehouse; name another folder")
    version = content.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise StoreVersionError(
            f"{where} is a warehouse of version {version}, this tracekit knows versions up to {VERSION}; "
            "upgrade tracekit, or name another folder"
        )
    try:
        return _manifest(content)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise StoreError(f"{where}/{NAME} lacks or mistakes a field: {error}") from error


def _manifest(content: dict[str, Any]) -> Manifest:
    parts = tuple(Part(**part | {"files": tuple(_file(**file) for file in part["files"])}) for part in content["parts"])
    sources = tuple(_source(entry) for entry in content["sources"])
    numbers = {name: content[name] for name in ("commit", "next_part", "schema_version", "created_by")}
    return Manifest(parts=parts, sources=sources, **numbers)


def _file(*, table: str, path: str, **facts: int) -> DataFile:
    steps = path.split("/")
    if path.startswith("/") or ".." in steps or "\\" in path:
        raise ValueError(f"{path!r} lies outside the warehouse")
    return DataFile(table, path, **facts)


def _source(entry: dict[str, Any]) -> SourceEntry:
    counts = entry["counts"]
    rejects = tuple(Reject(**reject) for reject in counts["rejects"])
    return replace(SourceEntry(**entry), counts=WriteCounts(**{**counts, "rejects": rejects}))
