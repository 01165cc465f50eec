"""PyTorch's Flight Recorder: what each rank had enqueued, started and completed when a collective timed out.

A dump is one file of one rank, a pickle or JSON, written by `torch.distributed` (`TORCH_NCCL_DUMP_ON_TIMEOUT`); the
dumps of a folder are those of one job. Format: `torch/distributed/flight_recorder/components/types.py` and
`FlightRecorder.hpp`, version 2.x.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

import polars as pl

from tracekit.errors import UnknownFormatError
from tracekit.importers.safe_pickle import MAX_BYTES, loads

FORMAT = "pytorch-flight-recorder"

SUPPORTED_MAJOR = 2
"""Version 1 lacks the numbers by which collectives are matched between ranks."""

MAX_TEXT = 65_536
"""The longest text of a dump that is kept."""

MAX_TENSORS = 16_384
"""The most tensors of one collective whose sizes are added up."""

GROUP_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "rank": pl.Int64,
    "group": pl.String,
    "description": pl.String,
    "members": pl.List(pl.Int64),
    "last_enqueued": pl.Int64,
    "last_started": pl.Int64,
    "last_completed": pl.Int64,
}
"""Process groups of a rank: name, the ranks in it, and the numbers of the last collective that the rank enqueued,
saw started and saw completed (null where the dump does not say; -1 where none)."""

ENTRY_SCHEMA = {
    "rank": pl.Int64,
    "record_id": pl.Int64,
    "group": pl.String,
    "sequence": pl.Int64,
    "p2p_sequence": pl.Int64,
    "operation_id": pl.Int64,
    "operation": pl.String,
    "peer": pl.Int64,
    "is_p2p": pl.Boolean,
    "state": pl.String,
    "is_retired": pl.Boolean,
    "created_ns": pl.Int64,
    "started_ns": pl.Int64,
    "completed_ns": pl.Int64,
    "timeout_ms": pl.Int64,
    "input_elements": pl.Int64,
    "output_elements": pl.Int64,
    "input_types": pl.String,
    "output_types": pl.String,
    "input_sizes": pl.String,
    "output_sizes": pl.String,
    "thread": pl.String,
    "frames": pl.String,
}
"""Collectives and sends of a rank, oldest first. `sequence` numbers the collectives of a group on every member alike,
`p2p_sequence` the sends and receives; `peer` is the global rank at the other side of one. `state` is scheduled, started
or completed. Sizes, types and frames are JSON text as recorded; elements are their products, added up."""


@dataclass(frozen=True, eq=False)
class Dump:
    """What one rank recorded. `problems` names what was set aside, `rank_source` what told the rank.

    digest: stands for the content of the file; a rank that hung twice left two dumps.
    """

    rank: int
    digest: str
    rank_source: str
    version: str
    library_version: str | None
    groups: pl.DataFrame
    entries: pl.DataFrame
    problems: tuple[str, ...]


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` (a few kilobytes) looks like a dump."""
    is_pickle = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    is_json = head.lstrip()[:1] == b"{"
    named = sum(name in head for name in (b"pg_config", b"pg_status", b"entries", b"nccl_version", b"comm_lib_version"))
    return (is_pickle or is_json) and b"version" in head and named >= 1 and b"traceEvents" not in head


def read_dump(data: bytes, *, name: str) -> Dump:
    """The dump in a file with this name; the rank is taken from the content where that tells it, else from the name.

    Raises `UnknownFormatError` where it is no dump, cut off, unsafe, of a version that is not read, or of no rank.
    """
    content = _content(data, name)
    version = str(content.get("version", ""))[:MAX_TEXT]
    if version.partition(".")[0] != str(SUPPORTED_MAJOR):
        raise UnknownFormatError(
            f"{name} is a Flight Recorder dump of version {version or 'unknown'}; version {SUPPORTED_MAJOR}.x is read: "
            "dump with PyTorch 2.3 or newer"
        )
    problems: list[str] = []
    entries = [each for each in _list(content.get("entries")) if isinstance(each, dict)]
    members = _members(content)
    rank, rank_source = _rank(content, members, entries, name, problems)
    groups = _groups(content, rank, members, entries, problems)
    rows = [row for each in entries if (row := _entry(each, rank, members, problems)) is not None]
    library = content.get("nccl_version", content.get("comm_lib_version"))
    return Dump(
        rank=rank,
        digest=blake2b(data, digest_size=8).hexdigest(),
        rank_source=rank_source,
        version=version,
        library_version=library if isinstance(library, str) else None,
        groups=groups,
        entries=pl.DataFrame(rows, schema=ENTRY_SCHEMA, orient="row"),
        problems=tuple(problems),
    )


def _content(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise UnknownFormatError(f"{name} has {len(data):,} bytes; at most {MAX_BYTES:,} of a dump are read")
    if data.lstrip()[:1] == b"{":
        try:
            content = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UnknownFormatError(f"{name} is no whole JSON document: {error}") from error
    else:
        try:
            content = loads(data)
        except UnknownFormatError as error:
            raise UnknownFormatError(f"{name}: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("entries"), list):
        raise UnknownFormatError(f"{name} is no Flight Recorder dump: it has no list of entries")
    return content


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _integer(value: object) -> int | None:
    """A whole number that fits 64 bits; None for everything else."""
    if isinstance(value, str) and value.isdigit() and len(value) < 19:
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    return value if is_number else None  # type: ignore[return-value]


def _text(value: object) -> str | None:
    return value[:MAX_TEXT] if isinstance(value, str) else None


def _members(content: Mapping[str, Any]) -> dict[str, list[int]]:
    """The ranks of each process group, in the group's own order."""
    config = content.get("pg_config")
    found: dict[str, list[int]] = {}
    for key, group in config.items() if isinstance(config, dict) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else group
        if isinstance(ranks, str) and len(ranks) <= 16 * MAX_TEXT:
            ranks = [int(each) for each in re.findall(r"\d{1,9}", ranks)]
        numbers = [_integer(each) for each in _list(ranks)]
        name = _text(group.get("name")) if isinstance(group, dict) else None
        found[name or str(key)[:MAX_TEXT]] = [each for each in numbers if each is not None]
    return found


_RANK_IN_NAME = re.compile(r"(?:rank|dump|trace)[_\-.]?(\d{1,9})(?!.*\d)|(\d{1,9})(?!.*\d)", re.IGNORECASE)
_TRANSFER = re.compile(r"(send|recv) (\d{1,9})(?:->|<-)(\d{1,9})")


def _rank(
    content: Mapping[str, Any], members: Mapping[str, list[int]], entries: Sequence[dict[str, Any]], name: str,
    problems: list[str],
) -> tuple[int, str]:  # fmt: skip
    """The global rank of a dump and what told it.

    A rank is in all groups that it has, and its place in a group stands in the names of its sends and receives.
    """
    stem = PurePath(name).name
    match = _RANK_IN_NAME.search(stem)
    by_name = int(next(each for each in match.groups() if each)) if match else None
    told = _integer(content.get("rank"))
    possible = set.intersection(*map(set, members.values())) if members else set()
    local = _told_by_transfers(entries, members)
    possible = possible & {local} if local is not None and possible else possible
    if told is None and len(possible) == 1:
        told = next(iter(possible))
    if told is not None:
        if by_name is not None and by_name != told:
            problems.append(f"the file name says rank {by_name}, its content rank {told}: the content is believed")
        return told, "content"
    if by_name is None:
        raise UnknownFormatError(f"{name} does not tell whose dump it is: put the rank at the end of the file name")
    if possible and by_name not in possible:
        problems.append(f"the file name says rank {by_name}, which is in none of the groups that the dump describes")
    return by_name, "file name"


def _told_by_transfers(entries: Sequence[dict[str, Any]], members: Mapping[str, list[int]]) -> int | None:
    for entry in entries:
        match = _TRANSFER.search(str(entry.get("profiling_name", "")))
        ranks = members.get(_group_of(entry) or "", [])
        if match and int(match[2]) < len(ranks):
            return ranks[int(match[2])]
    return None


def _group_of(entry: Mapping[str, Any]) -> str | None:
    group = _list(entry.get("process_group"))
    return _text(group[0]) if group else None


_LAST = ("last_enqueued", "last_started", "last_completed")


def _groups(
    content: Mapping[str, Any], rank: int, members: Mapping[str, list[int]], entries: Sequence[dict[str, Any]],
    problems: list[str],
) -> pl.DataFrame:  # fmt: skip
    config, status = content.get("pg_config"), content.get("pg_status")
    described = {_text(each.get("name")): _text(each.get("desc")) for each in _values(config) if isinstance(each, dict)}
    entries_of = status.items() if isinstance(status, dict) else ()
    statuses = {str(key): each for key, each in entries_of if isinstance(each, dict)}
    number_of = _group_numbers(members, statuses, entries)
    if unnamed := len(statuses) - len(set(number_of.values()) & set(statuses)):
        problems.append(f"{unnamed} group statuses belong to groups that the dump does not name")
    rows = []
    for group, ranks in members.items():
        last = statuses.get(number_of.get(group, ""), {})
        numbers = [_integer_or_minus_one(last.get(f"{name}_collective")) for name in _LAST]
        rows.append((rank, group, described.get(group), ranks, *numbers))
    return pl.DataFrame(rows, schema=GROUP_SCHEMA, orient="row")


def _values(value: object) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else ()


def _integer_or_minus_one(value: object) -> int | None:
    """A number of a collective; PyTorch writes that of none as -1, or as the largest unsigned number."""
    if isinstance(value, int) and value >= 2**63:
        return -1
    return _integer(value)


def _group_numbers(
    members: Mapping[str, list[int]], statuses: Mapping[str, Any], entries: Sequence[dict[str, Any]]
) -> dict[str, str]:  # fmt: skip
    """The number (`pg_id`) under which the status of each group stands.

    Entries have both. Groups without entries are told by order: both names and numbers grow as groups are created.
    That is believed only if there are as many of one as of the other and no entry contradicts.
    """
    told = {
        group: str(number)
        for each in entries
        if (group := _group_of(each)) is not None and (number := each.get("pg_id")) is not None
    }
    if len(members) != len(statuses) or not all(key.isdigit() for key in [*members, *statuses]):
        return told
    by_order = dict(zip(sorted(members, key=int), sorted(statuses, key=int), strict=True))
    return by_order if all(by_order.get(group) == number for group, number in told.items()) else told


def _entry(
    entry: Mapping[str, Any], rank: int, members: Mapping[str, list[int]], problems: list[str]
) -> tuple[Any, ...] | None:  # fmt: skip
    group = _group_of(entry)
    named = _text(entry.get("profiling_name"))
    if group is None or named is None:
        problems.append("an entry without process group or name is set aside")
        return None
    transfer = _TRANSFER.search(named)
    ranks = members.get(group, [])
    peer = int(transfer[3]) if transfer else None
    inputs, outputs = entry.get("input_sizes"), entry.get("output_sizes")
    return (
        rank,
        _integer(entry.get("record_id")),
        group,
        _integer(entry.get("collective_seq_id")),
        _integer(entry.get("p2p_seq_id")),
        _integer(entry.get("op_id")),
        transfer[1] if transfer else operation_name(named),
        ranks[peer] if peer is not None and peer < len(ranks) else None,
        bool(entry.get("is_p2p", transfer is not None)),
        _text(entry.get("state")),
        bool(entry.get("retired", False)),
        *(
            _integer(entry.get(name))
            for name in ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns", "timeout_ms")
        ),
        _elements(inputs),
        _elements(outputs),
        _as_json(entry.get("input_dtypes")),
        _as_json(entry.get("output_dtypes")),
        _as_json(inputs),
        _as_json(outputs),
        _text(entry.get("thread_name")),
        _as_json(entry.get("frames")),
    )


_NAMES = {
    "_all_gather_base": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "allreduce": "all_reduce",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
    "all_to_all_single": "all_to_all",
}


def operation_name(profiling_name: str) -> str:
    """The collective that a profiler's name stands for: `nccl:_all_gather_base` is `all_gather`."""
    bare = profiling_name.rpartition(":")[2].strip()
    return _NAMES.get(bare, bare)


def _elements(sizes: object) -> int | None:
    """Elements of all tensors of a list of shapes; None where it is none, or beyond `MAX_TENSORS`."""
    shapes = _list(sizes)
    if not isinstance(sizes, (list, tuple)) or len(shapes) > MAX_TENSORS:
        return None
    total = 0
    for shape in shapes:
        numbers = [_integer(each) for each in _list(shape)[:64]]
        if None in numbers:
            return None
        total += math.prod(each for each in numbers if each is not None)
    return total if total < 2**63 else None


def _as_json(value: object) -> str | None:
    """A value as JSON text; None where it is none or too long to keep."""
    if value is None or (isinstance(value, (list, tuple)) and len(value) > MAX_TENSORS):
        return None
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= MAX_TEXT else None
