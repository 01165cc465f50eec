"""Units written straight into the tables, so that a test shows the rows that it is about."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tracekit.store import Database

MS = 1_000_000


@dataclass(frozen=True)
class Request:
    """A request; `stages` is (window, stage, nanoseconds) in order, its windows follow each other."""

    stages: Sequence[tuple[str, str, int]]
    start_ns: int = 0
    outcome: str = "ok"
    model: str | None = "m"
    input_tokens: int | None = 10
    output_tokens: int | None = 5
    attributes: dict[str, Any] = field(default_factory=dict)
    orphan_ns: int = 0
    outside_ns: int = 0
    conflict_count: int = 0
    calls: int = 1
    flags: str | None = None

    def window_ns(self, window: str) -> int:
        """Duration of a window."""
        return sum(part_ns for name, _, part_ns in self.stages if name == window)


@dataclass(frozen=True)
class Step:
    """One rank's part of a training step; `waits` splits its waiting: (culprit rank, stage, nanoseconds)."""

    step: int
    rank: int
    stages: Sequence[tuple[str, int]]
    waits: Sequence[tuple[int, str, int]] = ()
    start_ns: int | None = None
    job_id: str = "job"
    attempt: int | None = 0
    outcome: str = "ok"


def write_units(database: Database, units: Sequence[Request | Step]) -> Database:
    """Write units with their stages and waits into the store; unit ids are positions."""
    rows = [
        _request_row(number, unit) if isinstance(unit, Request) else _step_row(number, unit)
        for number, unit in enumerate(units)
    ]
    stages = [row for number, unit in enumerate(units) for row in _stage_rows(number, unit)]
    waits = [
        (number, rank, stage, stage, wait_ns)
        for number, unit in enumerate(units)
        if isinstance(unit, Step)
        for rank, stage, wait_ns in unit.waits
    ]
    _insert(database, "units", pl.DataFrame(rows, infer_schema_length=None))
    _insert(database, "unit_stages", _frame(stages, _STAGE_COLUMNS))
    _insert(database, "step_waits", _frame(waits, _WAIT_COLUMNS))
    return database


_STAGE_COLUMNS = ["unit_id", "window", "stage", "operation", "self_ns", "alternative_ns", "operation_count"]
_WAIT_COLUMNS = ["unit_id", "culprit_rank", "culprit_stage", "culprit_operation", "wait_ns"]


def _request_row(number: int, request: Request) -> dict[str, Any]:
    first_token_ns = request.start_ns + request.window_ns("ttft")
    last_token_ns = first_token_ns + request.window_ns("decode")
    whole = request.window_ns("e2e")
    return _unit_row(number) | {
        "kind": "request",
        "trace_id": f"{number + 1:032x}",
        "root_span_id": number + 1,
        "service_name": "gateway",
        "name": "POST",
        "model": request.model,
        "start_ns": request.start_ns,
        "end_ns": last_token_ns + request.window_ns("after") + whole,
        "first_token_ns": None if whole else first_token_ns,
        "last_token_ns": None if whole else last_token_ns,
        "input_tokens": request.input_tokens,
        "output_tokens": request.output_tokens,
        "outcome": request.outcome,
        "attributes": json.dumps(request.attributes),
        "orphan_count": int(request.orphan_ns > 0),
        "orphan_ns": request.orphan_ns,
        "outside_ns": request.outside_ns,
        "conflict_count": request.conflict_count,
        "flags": request.flags,
    }


def _step_row(number: int, step: Step) -> dict[str, Any]:
    start_ns = step.step * 1_000_000_000 if step.start_ns is None else step.start_ns
    return _unit_row(number) | {
        "kind": "step",
        "job_id": step.job_id,
        "attempt": step.attempt,
        "step": step.step,
        "rank": step.rank,
        "name": "step",
        "start_ns": start_ns,
        "end_ns": start_ns + sum(part_ns for _, part_ns in step.stages),
        "outcome": step.outcome,
    }


def _unit_row(number: int) -> dict[str, Any]:
    absent = (
        "trace_id", "root_span_id", "job_id", "attempt", "step", "rank", "service_name", "model",
        "first_token_ns", "last_token_ns", "input_tokens", "output_tokens", "attributes", "flags",
    )  # fmt: skip
    zero = (
        "start_ns", "end_ns", "span_count", "orphan_count", "orphan_ns", "outside_count", "outside_ns",
        "post_root_ns", "shift_ns", "conflict_count",
    )  # fmt: skip
    text = {"kind": "", "name": "", "outcome": "ok", "vantage": "gateway"}
    return {"unit_id": number} | dict.fromkeys(absent) | dict.fromkeys(zero, 0) | text


def _stage_rows(number: int, unit: Request | Step) -> list[tuple[Any, ...]]:
    if isinstance(unit, Step):
        return [(number, "step", stage, stage, part_ns, part_ns, 1) for stage, part_ns in unit.stages]
    return [(number, window, stage, stage, part_ns, part_ns, unit.calls) for window, stage, part_ns in unit.stages]


def _frame(rows: list[tuple[Any, ...]], columns: list[str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns, orient="row")


def _insert(database: Database, table: str, frame: pl.DataFrame) -> None:
    if not len(frame):
        return
    with database.transaction() as cursor:
        cursor.register("incoming", frame)
        columns = ", ".join(f'"{name}"' for name in frame.columns)
        values = columns.replace('"attributes"', "attributes::JSON::VARIANT")
        cursor.execute(f"INSERT INTO base.{table} ({columns}) SELECT {values} FROM incoming")


def traffic(count: int, *, slow_every: int = 20, slow_ns: int = 300 * MS, seed: int = 1) -> list[Request]:
    """Requests a second apart; every twentieth waits in the engine's queue."""
    draw = random.Random(seed)
    return [
        Request(
            stages=[
                ("ttft", "eng.queue", slow_ns if number % slow_every == 0 else draw.randrange(1, 2 * MS)),
                ("ttft", "eng.prefill", 80 * MS + draw.randrange(10 * MS)),
                ("decode", "eng.decode", 400 * MS + draw.randrange(10 * MS)),
            ],
            start_ns=number * 1_000_000_000 + draw.randrange(1000),
            attributes={"tenant": "heavy" if number % slow_every == 0 else f"t{number % 3}", "id": number},
        )
        for number in range(count)
    ]
