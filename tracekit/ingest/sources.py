"""What to read: files, a folder, the matches of a glob pattern, objects of a store, days of a table, standard input."""

from __future__ import annotations

import glob
import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tracekit import clickhouse, objects

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read, or what is wrong with it."""

    name: str
    """The path as people would write it; `-` for standard input, `s3://BUCKET/KEY` for an object,
    `clickhouse://HOST/DATABASE/TABLE/DAY` for a day of a table."""
    size_bytes: int = 0
    """Size where it is known before reading; of a day of a table its rows."""
    is_named: bool = True
    """Whether it was asked for by itself, not found in a folder."""
    error: str | None = None
    """Why there is nothing to read."""
    modified_ns: int | None = None
    """When it was last changed, where that is known."""
    endpoint: str | None = None
    """URL of the store that has the object, None for that of Amazon."""

    @property
    def path(self) -> Path | None:
        """The file, where it is one."""
        return None if self.name == STANDARD_INPUT or self.is_object or self.is_table else Path(self.name)

    @property
    def is_object(self) -> bool:
        """Whether it lies in an object store."""
        return objects.is_object(self.name)

    @property
    def is_table(self) -> bool:
        """Whether it is a day of a table of ClickHouse."""
        return clickhouse.is_clickhouse(self.name)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes of the source. Raises `OSError`."""
        if self.name == STANDARD_INPUT:
            # A file object of its own: a thread that still reads must not hold the interpreter's at its end.
            with io.open(0, "rb", closefd=False) as stream:  # noqa: UP020
                yield stream
        elif self.is_object:
            with objects.open_object(self.name, endpoint=self.endpoint) as stream:
                yield stream
        elif self.is_table:
            with clickhouse.open_day(self.name) as stream:
                yield stream
        else:
            with Path(self.name).open("rb") as stream:
                yield stream


def find(paths: Iterable[str | Path], *, endpoint: str | None = None) -> list[Source]:
    """The sources behind paths, in the order given; inside a folder (read recursively) and a pattern, sorted.

    Names of objects (`s3://`, `s3a://`) are looked up at `endpoint`, by default that of the environment; a table of
    ClickHouse (`clickhouse://`) is a source a day. What cannot be found or listed is a source with an `error`.
    """
    endpoint = endpoint or objects.default_endpoint()
    return [
        source
        for path in map(str, paths)
        for source in (_objects(path, endpoint) if objects.is_object(path) else _behind(path))
    ]


def _objects(name: str, endpoint: str | None) -> list[Source]:
    return [
        Source(each.name, each.size_bytes, each.is_named, each.error, each.modified_ns, endpoint)
        for each in objects.find_objects(name, endpoint=endpoint)
    ]


def _days(name: str) -> list[Source]:
    return [Source(each.name, each.row_count, each.is_named, each.error) for each in clickhouse.find_days(name)]


def _behind(path: str) -> list[Source]:
    if clickhouse.is_clickhouse(path):
        return _days(path)
    if path == STANDARD_INPUT:
        return [Source(name=path)]
    if os.path.isdir(path):  # noqa: PTH112
        return _in_folder(path)
    if not os.path.lexists(path) and glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
        if not matches:
            return [Source(name=path, error="no file matches this pattern")]
        return [source for match in matches for source in _behind(match)]
    return [_file(path, is_named=True)]


def _in_folder(folder: str) -> list[Source]:
    failures: list[Source] = []
    found = [
        _file(os.path.join(parent, name), is_named=False)  # noqa: PTH118
        for parent, _, names in os.walk(folder, onerror=lambda error: failures.append(_unreadable(error)))
        for name in names
    ]
    if not found and not failures:
        return [Source(name=folder, error="the folder holds no files")]
    return sorted(found + failures, key=lambda source: source.name)


def _file(path: str, *, is_named: bool) -> Source:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114
            return Source(name=path, is_named=is_named, error=f"points to {Path(path).readlink()}, which is not there")
        return Source(name=path, is_named=is_named, error=reason(error))
    if not is_named and not stat.S_ISREG(status.st_mode):
        return Source(name=path, is_named=False, error="is no regular file; name it to read it")
    return Source(name=path, size_bytes=status.st_size, is_named=is_named, modified_ns=status.st_mtime_ns)


def _unreadable(error: OSError) -> Source:
    return Source(name=str(error.filename), is_named=False, error=reason(error))


def reason(error: OSError) -> str:
    """An error of the operating system in a few words, without the path."""
    return f"cannot be read: {error.strerror or error}"
