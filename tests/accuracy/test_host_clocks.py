"""Clocks of training hosts that differ are noticed, from spans to answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracekit.analysis import quality, stragglers, tail
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

MS = 1_000_000
START_NS = 1_790_000_000_000_000_000


def _value(value: str | int) -> dict[str, str]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _attributes(**values: str | int) -> list[dict[str, object]]:
    return [{"key": key.replace("__", "."), "value": _value(value)} for key, value in values.items()]


def _rank_spans(step: int, rank: int, *, late_ms: int) -> list[dict[str, object]]:
    """A step of 100 ms: 40 ms of compute, then a collective to about 90 ms; the clock is `late_ms` late."""
    number = (step * 2 + rank) * 10 + 1
    opened = START_NS + (200 * step + late_ms) * MS
    parts = [("step", 0, 100), ("forward", 0, 40), ("collective", 40, 90 + step % 3)]
    return [
        {
            "traceId": f"{rank + 1:032x}",
            "spanId": f"{number + index:016x}",
            "parentSpanId": f"{number:016x}" if index else "",
            "name": stage,
            "kind": 1,
            "startTimeUnixNano": str(opened + first * MS),
            "endTimeUnixNano": str(opened + last * MS),
            "attributes": _attributes(tracekit__stage=stage, tracekit__step=step)
            + (_attributes(tracekit__collective__group="g", tracekit__collective__seq=step) if index == 2 else []),
        }
        for index, (stage, first, last) in enumerate(parts)
    ]


def _all_spans(rank: int, *, late_ms: int) -> list[dict[str, object]]:
    return [span for step in range(20) for span in _rank_spans(step, rank, late_ms=late_ms)]


def _store(path: Path, *, late_ms: int) -> Database:
    resources = [
        {
            "resource": {
                "attributes": _attributes(
                    tracekit__job__id="j", tracekit__attempt=0, tracekit__rank=rank,
                    tracekit__world_size=2, host__name=f"host-{rank}",
                )
            },
            "scopeSpans": [{"spans": _all_spans(rank, late_ms=late_ms * rank)}],
        }
        for rank in (0, 1)
    ]  # fmt: skip
    path.write_text(json.dumps({"resourceSpans": resources}))
    database = Database.open(None)
    ingest(database, [path], after=update_units)
    return database


@pytest.mark.parametrize(("late_ms", "verdict"), [(0, "good"), (30, "usable"), (-30, "usable")])
def test_a_constant_distance_of_collective_ends_is_the_clock(tmp_path: Path, late_ms: int, verdict: str) -> None:
    """All leave a collective together: a host that always leaves 30 ms later has another clock."""
    with _store(tmp_path / "steps.json", late_ms=late_ms) as database:
        verdicts = [
            quality(database).reasons,
            stragglers(database).evidence.reasons,
            tail(database, "step", quantile=0).evidence.reasons,
        ]
        told = "clocks of hosts differ by about 30 ms; waiting of steps is not corrected"
        assert [told in reasons for reasons in verdicts] == [verdict == "usable"] * 3
        assert stragglers(database).evidence.verdict == verdict
