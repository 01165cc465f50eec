"""Rows of a statement that are whole before the first of them is sent.

They lie in a file until they are sent: what goes wrong on the way is known before the answer begins, a slow reader
holds no cursor, and a long answer needs no memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa

from tracekit.errors import QueryError
from tracekit.serving.governor import Question
from tracekit.store import Database, batches, only_looking, spill_folder

_IN_MEMORY_BYTES = 4 << 20
_PIECE_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Spooled:
    """Rows as an Arrow stream in a file without a name; `truncated` says that there were more."""

    file: IO[bytes]
    truncated: bool

    def pieces(self) -> Iterator[bytes]:
        """The stream, piece by piece; the file is gone after it."""
        with self.file:
            self.file.seek(0)
            while piece := self.file.read(_PIECE_BYTES):
                yield piece


def spooled_rows(
    question: Question,
    database: Database,
    *,
    statement: str,
    parameters: Mapping[str, Any],
    row_limit: int,
    most_bytes: int,
) -> Spooled:
    """The first rows of one statement that only looks.

    Raises `QueryError` as `read_only_sql`, and for more than `most_bytes`.
    """
    folder = _folder(database)
    within = None if folder is None else str(folder)
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES, dir=within)  # noqa: SIM115
    try:
        with (
            closing(database.cursor()) as cursor,
            only_looking(cursor, statement, parameters) as relation,
            # A result that is not read to its end keeps the cursor from all else.
            batches(relation, row_limit=row_limit + 1) as reader,
        ):
            truncated = _written(question, reader, file, row_limit=row_limit, most_bytes=most_bytes)
    except BaseException as error:
        file.close()
        if isinstance(error, OSError):
            raise QueryError(f"there is no room for the answer ({error}); ask for less") from error
        raise
    return Spooled(file, truncated)


def _written(
    question: Question, reader: pa.RecordBatchReader, file: IO[bytes], *, row_limit: int, most_bytes: int
) -> bool:
    """Write the rows up to the limit; whether there are more."""
    left = row_limit
    with pa.ipc.new_stream(file, reader.schema) as stream:
        for batch in reader:
            question.check()
            if left < batch.num_rows:
                stream.write_batch(batch.slice(0, left))
                return True
            stream.write_batch(batch)
            left -= batch.num_rows
            if file.tell() > most_bytes:
                raise QueryError(f"the answer has more than {most_bytes} bytes; ask for fewer rows or columns")
    return False


def _folder(database: Database) -> str | None:
    """Beside the store, on the disk that is there for data."""
    if database.path is None:
        return None
    folder = spill_folder(database.path)
    folder.mkdir(exist_ok=True)
    return str(folder)
