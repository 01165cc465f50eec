"""Profiles of PyTorch's profiler (Kineto): Chrome trace events of one rank, as operations of its training steps.

Read from https://github.com/pytorch/kineto (output_json.cpp) and real files of PyTorch 1.13 to 2.4, CUDA and ROCm.

A step is from one `ProfilerStep#N` to the next one; the last one ends with its own work. What the device did is cut at
these instants, so that the steps of a rank tile its time. Kernels are compute, those of NCCL, RCCL and HCCL are
communication, copies and memsets are copies; where several run at once, tracekit gives the time to compute before
copies before communication. Where nothing runs, it is

    the data loader   where an annotation of it is open
    the host          where the next work was launched after the last one had ended
    launching         where the next work was launched in time and began within `LAUNCH_GAP_NS`
    not explained     else: it waited for something that the profile does not show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from tracekit.errors import UnknownFormatError

MAX_BYTES = 256 << 20
"""The largest profile that is read: what it takes in memory is some ten times that."""

LAUNCH_GAP_NS = 30_000
"""A gap between two pieces of work up to this length is the launch of the second."""

EVENT_SCHEMA = {
    "kind": pl.String, "name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64, "thread": pl.String,
    "correlation": pl.Int64, "collective": pl.String, "group": pl.String, "sequence": pl.Int64, "bytes": pl.Int64,
    "stream": pl.Int64,
}  # fmt: skip
"""Columns of `Profile.events`; kind: compute, copy, comm, launch, data_load, step, host_comm or host_compute."""

_STEP = re.compile(r"ProfilerStep\s*#\s*(\d+)")
_COMM = re.compile(r"^(?:nccl|rccl|hccl|msccl)|ncclKernel|ncclDevKernel|rcclGenericKernel", re.IGNORECASE)
_COPY = re.compile(r"^(?:Memcpy|Memset|dma)", re.IGNORECASE)
_LOADER = re.compile(r"DataLoader|data_?load|dataloading", re.IGNORECASE)
_HOST_COMM = re.compile(r"^(?:gloo|nccl|mpi|ucc):(\w+)")
_RANK_IN_NAME = re.compile(r"rank[-_ ]?(\d{1,7})", re.IGNORECASE)
_DEVICE = {"kernel": "compute", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "copy", "memset": "copy"}
_LAUNCHES = {"cuda_runtime", "cuda_driver", "runtime", "mtia_runtime"}
_BYTES = {
    "float": 4, "float32": 4, "bfloat16": 2, "half": 2, "float16": 2, "double": 8, "int": 4, "long": 8, "int64": 8,
    "byte": 1, "uint8": 1, "char": 1, "int8": 1, "bool": 1, "short": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
_COLLECTIVES = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter", "alltoall": "all_to_all",
    "broadcast": "broadcast", "reduce": "reduce", "send": "send_recv", "recv": "send_recv", "sendrecv": "send_recv",
    "barrier": "barrier", "gather": "gather", "scatter": "scatter",
}  # fmt: skip


@dataclass(frozen=True)
class Profile:
    """One rank's profile.

    events: EVENT_SCHEMA, by start. rank, world_size, host: whose it is; world_size and host None where it does not say.
    notes: what was assumed or left out, with how many events it concerns.
    """

    events: pl.DataFrame
    rank: int
    world_size: int | None
    host: str | None
    notes: dict[str, int] = field(default_factory=dict)


def read_profile(content: bytes, *, name: str) -> Profile:
    """The profile in a file's content; `name` of the file tells the rank where the content does not.

    Raises `UnknownFormatError` where it is no JSON, or no profile.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnknownFormatError(f"the profile is no JSON, or was cut: {str(error)[:120]}") from error
    document = {"traceEvents": document} if isinstance(document, list) else document
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise UnknownFormatError("the file has no list of traceEvents")
    info = document.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    notes: dict[str, int] = {}
    rows = _rows(events, _number(document.get("baseTimeNanoseconds")) or 0, notes)
    frame = pl.DataFrame(rows, schema=EVENT_SCHEMA, orient="row").sort("start_ns", "end_ns", maintain_order=True)
    host = document.get("host_name")
    return Profile(
        events=frame,
        rank=_rank(info, name, notes),
        world_size=_number(info.get("world_size")),
        host=host if isinstance(host, str) else None,
        notes=notes,
    )


def _rank(info: Mapping[str, Any], name: str, notes: dict[str, int]) -> int:
    rank = _number(info.get("rank"))
    if rank is not None and rank >= 0:
        return rank
    found = _RANK_IN_NAME.search(name)
    notes["the profile does not name its rank; " + ("its file does" if found else "it is taken for rank 0")] = 1
    return int(found[1]) if found else 0


def _rows(events: list[Any], base_ns: int, notes: dict[str, int]) -> list[tuple[Any, ...]]:
    """The events that tell something, as rows of EVENT_SCHEMA."""
    rows, broken = [], 0
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        arguments = event.get("args")
        kind = _kind(event, arguments if isinstance(arguments, dict) else {})
        if kind is None:
            continue
        row = _row(event, arguments if isinstance(arguments, dict) else {}, kind, base_ns)
        broken += row is None
        if row is not None:
            rows.append(row)
    if broken:
        notes["events without a time or with one that cannot be are left out"] = broken
    return rows


def _kind(event: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """What an event is; None for what tells nothing here."""
    category, name = str(event.get("cat", "")).lower(), str(event.get("name", ""))
    if category in _DEVICE:
        is_comm = "Collective name" in arguments or _COMM.search(name)
        return "comm" if is_comm else "copy" if _COPY.search(name) else _DEVICE[category]
    if category in _LAUNCHES:
        return "launch"
    if category == "user_annotation":
        if _STEP.search(name):
            return "step"
        return "host_comm" if _HOST_COMM.match(name) else "data_load" if _LOADER.search(name) else None
    return "host_compute" if category in ("cpu_op", "operator") else None


def _row(
    event: Mapping[str, Any], arguments: Mapping[str, Any], kind: str, base_ns: int
) -> tuple[Any, ...] | None:  # fmt: skip
    start_us, duration_us = event.get("ts"), event.get("dur", 0)
    try:
        start_ns, length_ns = base_ns + _ns(start_us), _ns(duration_us)
    except (TypeError, ValueError, OverflowError):
        return None
    if length_ns < 0 or not 0 <= start_ns < 2**62 or length_ns >= 2**60:
        return None
    name = str(event.get("name", ""))
    thread = f"{event.get('pid')}/{event.get('tid')}"
    told = (kind, name, start_ns, start_ns + length_ns, thread, _number(arguments.get("correlation")))
    if kind not in ("comm", "host_comm"):
        return (*told, None, None, None, None, _number(arguments.get("stream")))
    return (*told, *_collective(name, arguments), _number(arguments.get("stream")))


def _ns(microseconds: Any) -> int:
    """Whole nanoseconds of microseconds, which are numbers or texts. Raises `ValueError` or `TypeError`."""
    if isinstance(microseconds, bool) or microseconds is None:
        raise TypeError(microseconds)
    if isinstance(microseconds, int):
        return microseconds * 1000
    return round(float(microseconds) * 1000)


def _collective(name: str, arguments: Mapping[str, Any]) -> tuple[str | None, str | None, int | None, int | None]:
    """Name, group, sequence and bytes of communication; None for what is not told."""
    said = arguments.get("Collective name") or (match[1] if (match := _HOST_COMM.match(name)) else name)
    plain = re.sub(r"[^a-z]", "", str(said).lower())
    # Of two names that fit, the longer one: `reduce` is in `all_reduce`.
    known = [value for key, value in sorted(_COLLECTIVES.items(), key=lambda one: -len(one[0])) if key in plain]
    group = arguments.get("Process Group Name")
    words = [str(part) for part in (arguments.get("Process Group Description"), group) if part not in (None, "")]
    is_joint = bool(known) and known[0] != "send_recv"
    side = "Out msg nelems" if known[:1] == ["all_gather"] else "In msg nelems"
    elements, width = _number(arguments.get(side)), _BYTES.get(str(arguments.get("dtype", "")).lower())
    size = elements * width if elements is not None and width is not None and 0 <= elements < 2**48 else None
    joined = " ".join(words) if words and group is not None and is_joint else None
    return known[0] if known else None, joined, _number(arguments.get("Seq")), size


def _number(value: Any) -> int | None:
    """A whole number that fits, also as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if -(2**62) < number < 2**62 else None


def step_operations(profile: Profile) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """Operations and steps of a profile, and what lies in no step.

    Operations: `step`, `operation`, `stage`, `collective`, `group`, `collective_sequence`, `bytes`, `start_ns`,
    `end_ns`. Steps: `step`, `start_ns`, `end_ns`; they tile the profile's time from the first one on.
    """
    events = profile.events
    notes: dict[str, int] = {}
    work = _work(events)
    steps = _steps(events, work, notes)
    if steps.is_empty():
        return _operations(work.clear(), steps), steps, notes
    placed = _cut(work, steps)
    told = placed.select("at").n_unique()
    if told < len(work):
        notes["operations outside of every step are left out"] = len(work) - told
    gaps = _gaps(placed, steps, events)
    parts = [_operations(placed, steps), gaps]
    return pl.concat(parts, how="diagonal_relaxed").sort("start_ns", "end_ns", "operation"), steps, notes


_STAGES = {"compute": "step.compute", "copy": "step.copy", "comm": "step.exposed_comm", "data_load": "step.data_load"}


def _work(events: pl.DataFrame) -> pl.DataFrame:
    """What took a rank's time, `at` numbers it: the device's, or the host's where the profile shows no device."""
    is_device = pl.col("kind").is_in(["compute", "copy", "comm"])
    if events.select(is_device.any()).item():
        chosen = events.filter(is_device | (pl.col("kind") == "data_load"))
    else:
        outer = _outermost(events.filter(pl.col("kind") == "host_compute"))
        chosen = pl.concat([events.filter(pl.col("kind").is_in(["host_comm", "data_load"])), outer])
        chosen = chosen.with_columns(kind=pl.col("kind").replace({"host_comm": "comm", "host_compute": "compute"}))
    return chosen.sort("start_ns", "end_ns", maintain_order=True).with_row_index("at")


def _outermost(calls: pl.DataFrame) -> pl.DataFrame:
    """Calls that lie in no other call of their thread."""
    reached = pl.col("end_ns").cum_max().shift(1).over("thread")
    return calls.filter((pl.col("start_ns") >= reached) | reached.is_null())


def _steps(events: pl.DataFrame, work: pl.DataFrame, notes: dict[str, int]) -> pl.DataFrame:
    """The steps that the profile names; one for all of it where it names none."""
    named = events.filter(pl.col("kind") == "step").with_columns(
        step=pl.col("name").str.extract(r"(\d+)", 1).cast(pl.Int64, strict=False)
    )
    named = named.filter(pl.col("step").is_not_null()).unique("step", keep="first", maintain_order=True)
    if named.is_empty():
        if len(work):
            notes["no ProfilerStep is named: the whole profile is one step"] = len(work)
        whole = work.select(step=pl.lit(0, pl.Int64), start_ns=pl.col("start_ns").min(), end_ns=pl.col("end_ns").max())
        return whole.head(1)
    last = work.filter(pl.col("start_ns") >= named["start_ns"].max())["end_ns"].max()
    ends = named["start_ns"].shift(-1).fill_null(max(int(named["end_ns"][-1]), int(last or 0)))  # type: ignore[arg-type]
    return named.select("step", "start_ns").with_columns(end_ns=ends).filter(pl.col("start_ns") < pl.col("end_ns"))


def _cut(work: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The work cut at the borders of steps, with the step of each part."""
    starts, ends = steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()
    first = np.searchsorted(ends, work["start_ns"].to_numpy(), side="right")
    last = np.searchsorted(starts, np.maximum(work["end_ns"].to_numpy(), work["start_ns"].to_numpy() + 1), side="left")
    parts = np.maximum(last - first, 0)
    row = np.repeat(np.arange(len(work)), parts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(parts) - parts, parts)
    step = np.repeat(first, parts) + within
    cut = work[row].with_columns(
        step=steps["step"].gather(step),
        start_ns=np.maximum(work["start_ns"].to_numpy()[row], starts[step]),
        end_ns=np.minimum(work["end_ns"].to_numpy()[row], ends[step]),
        is_first=pl.Series(within == 0),
    )
    return cut.with_columns(pl.max_horizontal("start_ns", "end_ns").alias("end_ns"))


def _operations(placed: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Work as operations; collectives are numbered in their step where the profile does not number them."""
    if "step" not in placed.columns:
        placed = placed.with_columns(step=pl.lit(0, pl.Int64), is_first=pl.lit(value=True))
    is_joint = pl.col("group").is_not_null() & pl.col("is_first")
    order = pl.int_range(pl.len()).over("step", "group")
    return placed.select(
        "step",
        operation=pl.col("name"),
        stage=pl.col("kind").replace_strict(_STAGES, default=None, return_dtype=pl.String),
        collective=pl.when(is_joint).then("collective"),
        group=pl.when(is_joint).then("group"),
        collective_sequence=pl.when(is_joint).then(pl.coalesce("sequence", order)),
        bytes=pl.when(is_joint).then("bytes"),
        start_ns="start_ns",
        end_ns="end_ns",
    )


def _gaps(placed: pl.DataFrame, steps: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Where no device works although it is known why: the host was late, or something was being launched."""
    device = placed.filter(pl.col("kind") != "data_load").sort("start_ns", "end_ns")
    launches = events.filter((pl.col("kind") == "launch") & pl.col("correlation").is_not_null())
    launched = dict(launches.select("correlation", "start_ns").iter_rows())
    launch_ns = np.array([launched.get(each, -1) for each in device["correlation"].to_list()], np.int64)
    start_ns, reached = device["start_ns"].to_numpy(), np.maximum.accumulate(device["end_ns"].to_numpy())
    before = np.concatenate([steps["start_ns"].to_numpy()[:1], reached[:-1]]) if len(device) else reached
    is_gap = (start_ns > before) & (launch_ns >= 0)
    is_host = is_gap & (launch_ns > before)
    is_launch = is_gap & ~is_host & (start_ns - before <= LAUNCH_GAP_NS)
    chosen = is_host | is_launch
    found = pl.DataFrame(
        {
            "at": np.arange(int(chosen.sum()), dtype=np.uint32),
            "kind": np.where(is_host[chosen], "host", "launch"),
            "start_ns": before[chosen],
            "end_ns": start_ns[chosen],
        }
    )
    if found.is_empty():
        return pl.DataFrame(schema={"step": pl.Int64})
    is_late = pl.col("kind") == "host"
    return _cut(found, steps).select(
        "step",
        operation=pl.when(is_late).then(pl.lit("host")).otherwise(pl.lit("launch")),
        stage=pl.when(is_late).then(pl.lit("step.host_bound")).otherwise(pl.lit("step.launch_overhead")),
        start_ns="start_ns",
        end_ns="end_ns",
    )


def is_profile(head: bytes) -> bool:
    """Whether a file begins as a profile of PyTorch does, and not only as some Chrome trace."""
    text = head.lstrip(b"\x00\xef\xbb\xbf \t\r\n")
    if not text.startswith(b"{") or b"resourceSpans" in head:
        return False
    return any(_has(text, signs) for signs in _SIGNS)


_SIGNS: tuple[Iterable[bytes], ...] = (
    (b'"schemaVersion"', b'"traceEvents"'),
    (b'"schemaVersion"', b'"deviceProperties"'),
    (b'"schemaVersion"', b'"distributedInfo"'),
    (b'"traceEvents"', b"ProfilerStep#"),
    (b'"traceEvents"', b'"cat": "cpu_op"'),
    (b'"traceEvents"', b'"cat":"cpu_op"'),
    (b'"traceEvents"', b'"distributedInfo"'),
    (b'"traceEvents"', b'"deviceProperties"'),
)
"""What a head has together."""


def _has(text: bytes, signs: Iterable[bytes]) -> bool:
    return all(sign in text for sign in signs)
