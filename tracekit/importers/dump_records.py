"""Flight Recorder dumps as log records: one for the dump, one for each process group, one for each entry.

What a rank had enqueued and what had completed is no span: the times at which the watchdog noticed are not those at
which a collective ran. So the entries are log records of the rank, with the keys of `tracekit.collective.*` and the
rest of the dump under `flight_recorder.*`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tracekit.errors import UnknownFormatError
from tracekit.importers.tables import rejects, resources, scope
from tracekit.records import LOGS, Batch, Input, Piece, Reason, documents_at

if TYPE_CHECKING:
    from tracekit.importers.flight_recorder import Dump

SCOPE = "tracekit.importers.flight_recorder"
DUMP_EVENT, GROUP_EVENT, ENTRY_EVENT = (f"flight_recorder.{name}" for name in ("dump", "group", "entry"))

_HEAD_BYTES = 65_536
_COLLECTIVE_KEYS = {"operation": "name", "group": "group", "sequence": "seq"}


class FlightRecorderDump:
    """PyTorch's Flight Recorder; the dumps of a folder are one job, called as the folder is."""

    name = "PyTorch Flight Recorder dump"
    expects = "a PyTorch Flight Recorder dump (pickle or JSON)"

    def recognise(self, source: Input) -> bool:
        """Whether the content begins as a dump does."""
        from tracekit.importers.flight_recorder import recognises

        return recognises(source.peek(_HEAD_BYTES))

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """The dump as log records. Raises `UnknownFormatError` where it cannot be read safely and whole."""
        from tracekit.importers.flight_recorder import read_dump
        from tracekit.importers.safe_pickle import MAX_BYTES

        path = source.path.resolve() if source.path is not None else None
        if path is None:
            raise UnknownFormatError("a Flight Recorder dump must be an uncompressed file: its folder names the job")
        dump = read_dump(source.whole(MAX_BYTES), name=path.name)
        yield Piece(_batch(dump, job=path.parent.name), self.name)


def _batch(dump: Dump, *, job: str) -> Batch:
    whose = {"service.name": "trainer", "tracekit.job.id": job, "tracekit.rank": dump.rank}
    rows = [_dump_record(dump), *_group_records(dump), *_entry_records(dump)]
    for row in rows:
        row["attributes"]["flight_recorder.dump"] = dump.digest
    return Batch.of(
        resources=resources([whose]),
        scopes=scope(SCOPE),
        logs=pa.Table.from_pylist([_log(row) for row in rows], schema=LOGS),
        rejects=rejects("logs", "note", Reason.ASSUMED, Counter(dump.problems)),
        documents=documents_at([0]),
    )


def _log(row: Mapping[str, Any]) -> dict[str, Any]:
    attributes = {key: value for key, value in row["attributes"].items() if value is not None}
    return {
        "resource_row": 0, "scope_row": 0, "document_row": 0, "time_ns": row["time_ns"], "severity_number": 9,
        "severity_text": "INFO", "event_name": row["event"], "body": json.dumps(row["body"]),
        "attributes": json.dumps(attributes), "dropped_attributes_count": 0, "flags": 0,
    }  # fmt: skip


def _last_ns(dump: Dump) -> int | None:
    times = dump.entries["created_ns"].drop_nulls()
    return int(times.max()) if len(times) else None  # type: ignore[arg-type]


def _dump_record(dump: Dump) -> dict[str, Any]:
    told = {
        "flight_recorder.version": dump.version,
        "flight_recorder.library_version": dump.library_version,
        "flight_recorder.rank_source": dump.rank_source,
        "flight_recorder.entries": dump.entries.height,
    }
    body = f"Flight Recorder dump of rank {dump.rank}: {dump.entries.height} entries"
    return {"event": DUMP_EVENT, "time_ns": _last_ns(dump), "body": body, "attributes": told}


def _group_records(dump: Dump) -> Iterator[dict[str, Any]]:
    for group in dump.groups.drop("rank").iter_rows(named=True):
        told = {f"flight_recorder.{name}": value for name, value in group.items() if name != "group"}
        body = f"Group {group['group']}: enqueued {group['last_enqueued']}, completed {group['last_completed']}"
        attributes = {"tracekit.collective.group": group["group"], **told}
        yield {"event": GROUP_EVENT, "time_ns": _last_ns(dump), "body": body, "attributes": attributes}


def _entry_records(dump: Dump) -> Iterator[dict[str, Any]]:
    for entry in dump.entries.drop("rank").iter_rows(named=True):
        named = {f"tracekit.collective.{key}": entry[name] for name, key in _COLLECTIVE_KEYS.items()}
        told = {f"flight_recorder.{name}": value for name, value in entry.items() if name not in _COLLECTIVE_KEYS}
        body = f"{entry['operation']} {entry['sequence']} of group {entry['group']}: {entry['state']}"
        yield {"event": ENTRY_EVENT, "time_ns": entry["created_ns"], "body": body, "attributes": named | told}
