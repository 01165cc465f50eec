"""Whom training ranks waited for, in a line each: many ranks of one host are that host."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.foreign import named
from tracekit.schema import UNATTRIBUTED
from tracekit.wording import culprit_text, duration_text, share_text, steps_text

_MANY = 3


def culprit_lines(culprits: pl.DataFrame) -> list[str]:
    """One line a culprit, the costliest first; ranks that were slow alike on one host share a line."""
    alike = ["job_id", "attempt", "place", "stage", "operation", "first_step", "last_step"]
    groups = culprits.partition_by(alike, maintain_order=True, include_key=True)
    lines: list[tuple[int, str]] = []
    for group in groups:
        ranks = group["rank"].drop_nulls()
        together = len(ranks) >= _MANY and group["place"][0] is not None
        told = [(int(group["lost_ns"].sum()), _host_line(group))] if together else map(_own_line, group.to_dicts())
        lines.extend(told)
    return [line for _, line in sorted(lines, key=lambda line: -line[0])]


def _own_line(row: dict[str, Any]) -> tuple[int, str]:
    return int(row["lost_ns"]), straggler_text(row)


def straggler_text(row: dict[str, Any]) -> str:
    """One culprit in words: who, doing what, when, and what it cost."""
    who = named(culprit_text(row))
    lost = f"{duration_text(row['lost_ns'])} of accelerator time lost"
    return f"{who[:1].upper()}{who[1:]}, {_what(row)}, {steps_text(row)}: {lost} ({share_text(row['share'])})"


def _host_line(group: pl.DataFrame) -> str:
    row = group.row(0, named=True)
    ranks = sorted(group["rank"].to_list())
    lost = f"{duration_text(int(group['lost_ns'].sum()))} of accelerator time lost"
    who = f"Host {named(row['place'])}, all {len(ranks)} of its slow ranks ({_listed(ranks)})"
    return f"{who}, {_what(row)}, {steps_text(row)}: {lost} ({share_text(group['share'].sum())})"


def _what(row: dict[str, Any]) -> str:
    if row["stage"] == UNATTRIBUTED:
        return "in time that no span explains"
    return named(row["operation"] or row["stage"])


def _listed(ranks: list[int]) -> str:
    is_run = ranks == list(range(ranks[0], ranks[-1] + 1))
    return f"{ranks[0]} to {ranks[-1]}" if is_run else ", ".join(map(str, ranks))
