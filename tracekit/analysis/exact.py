"""Accelerator time beyond 64 bits: exact decimals, as machines read them."""

from __future__ import annotations

from typing import Any

import polars as pl


def machine(frame: pl.DataFrame) -> pl.DataFrame:
    """Exact decimals as integers where 64 bits hold them, else as text of all digits."""
    exact = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal)]
    most = max([abs(int(value)) for name in exact for value in frame[name].drop_nulls()], default=0)
    return frame.with_columns(pl.col(exact).cast(pl.Int64 if most < 2**63 else pl.String))


def plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows with exact decimals as integers, which JSON holds whatever their size."""
    whole = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal)]
    return [row | {name: None if row[name] is None else int(row[name]) for name in whole} for row in frame.to_dicts()]
