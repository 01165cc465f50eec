"""Arrow tables that every format makes alike: resources, scopes, and what was set aside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from tracekit.records import REJECTS, RESOURCES, SCOPES, Reason, Signal


def resources(attributes: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Table `resources` of attributes; those without value are left out."""
    texts = [json.dumps({key: value for key, value in each.items() if value is not None}) for each in attributes]
    count = len(texts)
    return pa.table([texts, pa.array([0] * count, pa.uint32()), [""] * count, pa.nulls(count)], schema=RESOURCES)


def scope(name: str) -> pa.Table:
    """Table `scopes` of one scope."""
    return pa.table([[name], [""], pa.nulls(1), pa.array([0], pa.uint32()), [""]], schema=SCOPES)


def rejects(signal: Signal, kind: Literal["rejected", "note"], reason: Reason, counts: Mapping[str, int]) -> pa.Table:
    """Table `rejects` of texts with how many records each concerns."""
    rows = [
        {
            "signal": signal, "kind": kind, "reason": reason.word, "count": count, "document_row": 0, "offset": 0,
            "example": text,
        }
        for text, count in counts.items()
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=REJECTS)
