"""What the spans of a batch are: the rows of the mappings, one after the other, the first that knows a span decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.stages.units.codes import Codes
from tracekit.stages.units.spans import Spans

UNATTRIBUTED = "unattributed"
STARTUP = "lifecycle.startup"
MISSING = "<missing>"

EARLIEST_NS = np.iinfo(np.int64).min
LATEST_NS = np.iinfo(np.int64).max

_FACTS = {
    "vantage": pl.String,
    "first_token_ns": pl.Int64,
    "last_token_ns": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "model": pl.String,
    "outcome": pl.String,
    "request_id": pl.String,
    "conflicts": pl.String,
}
_PARTS = {
    "row": pl.Int64,
    "stage": pl.Int32,
    "operation": pl.Int32,
    "source": pl.Int32,
    "quality": pl.Int32,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "placed_by": pl.Int64,
}
_UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Parts:
    """Operations inside spans that no span of their own shows, sorted by span row and start.

    Columns: `row` (int64, row of the span), `stage`, `operation` (int32 codes), `start_ns`, `end_ns` (int64;
    `EARLIEST_NS` and `LATEST_NS` stand for the edge of the span), `placed_by` (int64, row of the span whose
    clock wrote the times), `source`, `quality` (int32 codes).
    """

    row: NDArray[np.int64]
    stage: NDArray[np.int32]
    operation: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    placed_by: NDArray[np.int64]
    source: NDArray[np.int32]
    quality: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Operations:
    """What the spans of a batch are: stage and operation code of each row, parts, and facts on requests.

    `facts` has a row a span that tells something about its request: `row` and the columns that the mappings
    of engines and gateways describe.
    """

    codes: Codes
    stage: NDArray[np.int32]
    operation: NDArray[np.int32]
    parts: Parts
    facts: pl.DataFrame


def operations_of(spans: Spans, mapped: Iterable[pa.Table]) -> Operations:
    """What spans are, by the tables of the mappings in order of precedence.

    Each table has the columns that the mapping's file in `queries/stages` describes: `span_row`, `part`,
    `stage`, `operation`; `start_ns`, `end_ns`, `placed_by`, `source`, `quality` where it has parts; and
    `observed_from` and other facts where it tells facts about requests.
    """
    mapping = _Mapping(spans)
    for rows in mapped:
        mapping.add(rows)
    return mapping.operations()


class _Mapping:
    """Collects the rows of one mapping after the other."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._codes = Codes()
        for name in (UNATTRIBUTED, STARTUP, MISSING):
            self._codes.code(name)
        self._stage = np.full(spans.count, _UNKNOWN, dtype=np.int32)
        self._operation = np.full(spans.count, _UNKNOWN, dtype=np.int32)
        self._has_facts = np.zeros(spans.count, dtype=np.bool_)
        self._parts: list[pl.DataFrame] = []
        self._facts: list[pl.DataFrame] = []

    def add(self, rows: pa.Table) -> None:
        """Take over the stages of spans that no earlier mapping knows, and facts of spans of which none has told any.

        Who names the stage of a span need not know what it tells about its request.
        """
        if not rows.num_rows:
            return
        at = self._spans.rows_of(rows["span_row"].to_numpy())
        is_free = self._stage[at] == _UNKNOWN
        is_span = rows["part"].to_numpy() == 0
        stage, operation = self._codes.encode(rows["stage"]), self._codes.encode(rows["operation"])
        if "start_ns" in rows.column_names:
            self._add_parts(rows, at, np.flatnonzero(is_free & ~is_span), stage, operation)
        if "vantage" in rows.column_names:
            tells_facts = rows["vantage"].is_valid().to_numpy()
            self._add_facts(rows, at, np.flatnonzero(~self._has_facts[at] & is_span & tells_facts))
        chosen = is_free & is_span
        self._stage[at[chosen]] = stage[chosen]
        self._operation[at[chosen]] = operation[chosen]

    def _add_parts(
        self,
        rows: pa.Table,
        at: NDArray[np.int64],
        chosen: NDArray[np.int64],
        stage: NDArray[np.int32],
        operation: NDArray[np.int32],
    ) -> None:
        row = at[chosen]
        placed_by = self._spans.span_row[row]
        if "placed_by" in rows.column_names:
            named = _numbers(rows["placed_by"], _UNKNOWN)[chosen]
            placed_by = np.where(named == _UNKNOWN, placed_by, named)
        self._parts.append(
            pl.DataFrame(
                {
                    "row": row,
                    "stage": stage[chosen],
                    "operation": operation[chosen],
                    "source": self._codes.encode(rows["source"].fill_null(""))[chosen],
                    "quality": self._codes.encode(rows["quality"].fill_null(""))[chosen],
                    "start_ns": _numbers(rows["start_ns"], EARLIEST_NS)[chosen],
                    "end_ns": _numbers(rows["end_ns"], LATEST_NS)[chosen],
                    "placed_by": self._spans.rows_of(placed_by),
                }
            )
        )

    def _add_facts(self, rows: pa.Table, at: NDArray[np.int64], chosen: NDArray[np.int64]) -> None:
        columns = [name for name in _FACTS if name in rows.column_names]
        frame = pl.DataFrame(rows.select(columns).take(pa.array(chosen)))
        known = [pl.col(name).cast(_FACTS[name]) for name in columns]
        self._has_facts[at[chosen]] = True
        self._facts.append(frame.select(pl.Series("row", at[chosen]), *known))

    def operations(self) -> Operations:
        """Everything taken over, parts in order."""
        parts = pl.concat([pl.DataFrame(schema=_PARTS), *self._parts]).sort("row", "start_ns", "end_ns")
        facts = pl.concat([pl.DataFrame(schema={"row": pl.Int64, **_FACTS}), *self._facts], how="diagonal")
        return Operations(
            codes=self._codes,
            stage=self._stage,
            operation=self._operation,
            parts=Parts(**{name: parts[name].to_numpy() for name in _PARTS}),
            facts=facts,
        )


def _numbers(column: pa.ChunkedArray, default: int) -> NDArray[np.int64]:
    """The numbers of a column, `default` for null."""
    return column.cast(pa.int64()).fill_null(default).to_numpy()
