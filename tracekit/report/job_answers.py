"""The ledger of jobs and their failures as text, alone and in the report."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import Answer, FailuresAnswer, GoodputAnswer, failures, goodput
from tracekit.output import table
from tracekit.report.answers import culprit_cells, text_for
from tracekit.report.picture import Section, add_section
from tracekit.report.requests import request_failures_rest, request_goodput_rest
from tracekit.schema import UnitKind
from tracekit.store import Database
from tracekit.wording import (
    duration_text,
    first_cause_text,
    hours_text,
    moment_text,
    saving_text,
    savings_sentence,
    share_text,
)

_SHOWN = 12


def _ask_goodput(database: Database, kinds: frozenset[UnitKind]) -> Answer | None:
    answer = goodput(database)
    return answer if answer.training.jobs.height else None


def _ask_failures(database: Database, kinds: frozenset[UnitKind]) -> Answer | None:
    answer = failures(database)
    return answer if answer.training.failed else None


add_section(Section("goodput", "Where did the paid accelerator time go?", _ask_goodput))
add_section(Section("failures", "What failed first?", _ask_failures))


@text_for(GoodputAnswer)
def goodput_text(answer: GoodputAnswer) -> str:
    """The sentence of each job, its ledger, what was lost by owner and cause, and what was noticed."""
    parts = [answer.summary]
    if answer.serving is not None:
        parts.append(request_goodput_rest(answer.serving))
    for job in answer.training.jobs.iter_rows(named=True):
        parts += _job_sections(answer, job)
    return "\n\n".join(parts)


def _job_sections(answer: GoodputAnswer, job: dict[str, Any]) -> list[str]:
    mine = pl.col("job_id") == job["job_id"]
    training = answer.training
    sections = [_ratios(job), table(_leaf_table(training.leaves.filter(mine)))]
    if len(lost := training.lost.filter(mine)):
        sections.append("Lost, by leaf, owner and cause:\n" + table(_lost_table(lost)))
    if len(culprits := training.culprits.filter(mine)):
        sections.append("Inside steps, part of the above:\n" + table(_culprit_table(culprits)))
    if len(savings := training.savings.filter(mine)):
        sections.append(_savings(savings))
    if len(scaling := training.scaling.filter(mine)):
        sections.append("Scaling against the smallest world:\n" + table(_scaling_table(scaling)))
    if len(notes := training.notes.filter(mine)):
        sections.append("Noticed:\n" + "\n".join(f"- {text}" for text in notes["text"]))
    return sections


def _ratios(job: dict[str, Any]) -> str:
    names = ("sg", "rg", "pg", "goodput", "ettr", "mfu")
    told = [
        f"{name.upper() if name != 'goodput' else 'goodput'} {job[name]:.4f}" for name in names if job[name] is not None
    ]
    if job["tokens"] is not None:
        told.append(f"{job['tokens']:,} tokens")
    if job["tokens_per_s"] is not None:
        told.append(f"{job['tokens_per_s']:,.0f} tokens/s, {job['tokens_per_s_per_accelerator']:,.1f} an accelerator")
    return f"Job {job['job_id']!r}, {job['accelerators']:,} accelerators: {'; '.join(told)}."


def _leaf_table(leaves: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "leaf": row["leaf"],
            "accelerator-seconds": _seconds(row["ns"]),
            "share": share_text(row["share"]),
            "derived": _seconds(row["derived_ns"]) if row["derived_ns"] else "",
            "cost": "" if row["cost"] is None else f"{row['cost']:,.2f}",
        }
        for row in leaves.iter_rows(named=True)
    ]
    total = {
        "leaf": "total",
        "accelerator-seconds": _seconds(leaves["ns"].sum()),
        "share": "",
        "derived": "",
        "cost": "",
    }
    return _right(_without_empty(pl.DataFrame([*rows, total])), "accelerator-seconds", "share", "derived", "cost")


def _lost_table(lost: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "leaf": row["leaf"],
            "owner": row["owner"],
            "cause": row["cause"] or "",
            "accelerator-seconds": _seconds(row["ns"]),
            "share": share_text(row["share"]),
            "cost": "" if row["cost"] is None else f"{row['cost']:,.2f}",
        }
        for row in lost.head(_SHOWN).iter_rows(named=True)
    ]
    rest = lost.slice(_SHOWN)
    if len(rest):
        rows.append({
            "leaf": f"{len(rest)} more", "owner": "", "cause": "", "accelerator-seconds": _seconds(rest["ns"].sum()),
            "share": share_text(float(rest["share"].sum())),
            "cost": "" if rest["cost"].null_count() else f"{rest['cost'].sum():,.2f}",
        })  # fmt: skip
    return _right(_without_empty(pl.DataFrame(rows)), "accelerator-seconds", "share", "cost")


def _culprit_table(culprits: pl.DataFrame) -> pl.DataFrame:
    rows = [
        culprit_cells(row) | {"accelerator-seconds": _seconds(row["lost_ns"])} for row in culprits.iter_rows(named=True)
    ]
    return _right(pl.DataFrame(rows), "accelerator-seconds")


def _savings(savings: pl.DataFrame) -> str:
    """What would be given back, a line a change."""
    replayed = savings.filter(pl.col("change").is_not_null())
    if replayed.is_empty():
        return savings_sentence(savings)
    lines = [f"- {saving_text(row)}{_given_back(row)}" for row in replayed.iter_rows(named=True)]
    steps = int(replayed["steps"].max() or 0)  # type: ignore[arg-type]
    head = f"What it would give back, by replay of {steps:,} steps (beside the ledger, no part of it; no sums):"
    return "\n".join([head, *lines])


def _given_back(row: dict[str, Any]) -> str:
    if row["verdict"] == "no_difference":
        return ""
    cost = "" if row["cost"] is None else f", {abs(row['cost']):,.2f} of what was paid"
    return f": {hours_text(abs(int(row['given_back_ns'])))}{cost}"


def _scaling_table(scaling: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "accelerators": f"{row['world_size']:,}",
            "steps": f"{row['steps']:,}",
            "a step": duration_text(row["step_ns"]),
            "efficiency": share_text(row["efficiency"]),
        }
        for row in scaling.iter_rows(named=True)
    ]
    return _right(pl.DataFrame(rows), "accelerators", "steps", "a step", "efficiency")


@text_for(FailuresAnswer)
def failures_text(answer: FailuresAnswer) -> str:
    """The sentence, then a row a failure in order of time."""
    incidents = answer.training.incidents
    requests = "" if answer.serving is None else request_failures_rest(answer.serving)
    if incidents.is_empty():
        return "\n\n".join(part for part in (answer.summary, requests) if part)
    rows = [
        {
            "failure": row["id"],
            "onset": moment_text(row["onset_ns"]),
            "first cause": first_cause_text(row),
            "owner": row["owner"],
            "manner": row["manner"],
            "noticed after": duration_text(row["declared_ns"] - row["onset_ns"]),
            "followed": f"{row['blast_radius']:,}",
            "lost": hours_text(int(row["lost_ns"] or 0)),
            "resumed from": _resumed(row),
        }
        for row in incidents.iter_rows(named=True)
    ]
    jobs = table(_right(pl.DataFrame(rows), "followed", "lost", "noticed after"))
    return "\n\n".join(part for part in (answer.summary, jobs, requests) if part)


def _resumed(row: dict[str, Any]) -> str:
    if row["resumed_step"] is None:
        return "not at all" if row["recovery"] == "none" else "not known"
    return f"step {row['resumed_step']} ({row['recovery']})"


def _seconds(ns: Any) -> str:
    return f"{int(ns or 0) / 1e9:,.1f}"


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(name for name in frame.columns if any(frame[name].to_list()))


def _right(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with texts that are numbers flush right."""
    present = [name for name in columns if name in frame.columns]
    widths = {name: max([len(name), *(len(text) for text in frame[name])]) for name in present}
    return frame.with_columns(pl.col(name).str.pad_start(width) for name, width in widths.items())
