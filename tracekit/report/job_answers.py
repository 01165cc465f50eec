"""The ledger of jobs and their failures as rows, as objects and as text."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import FailuresAnswer, GoodputAnswer
from tracekit.analysis.durations import duration_text
from tracekit.analysis.job_failures_words import culprit_text
from tracekit.analysis.job_goodput_words import hours_text, share_text
from tracekit.analysis.stragglers import culprit_text as straggler_text
from tracekit.output import Output, table
from tracekit.report import words

_SHOWN = 12


def goodput_output(answer: GoodputAnswer) -> Output:
    """Rows: one a job and leaf. Object: the documented JSON of `tracekit goodput`."""
    return Output(_machine(answer.training.leaves), answer.as_dict(), goodput_text(answer))


def failures_output(answer: FailuresAnswer) -> Output:
    """Rows: one a failure. Object: the documented JSON of `tracekit failures`."""
    rows = _machine(answer.training.incidents).with_columns(
        pl.col("ranks").cast(pl.List(pl.String)).list.join(","), pl.col("hosts").list.join(",")
    )
    return Output(rows, answer.as_dict(), failures_text(answer))


def _machine(frame: pl.DataFrame) -> pl.DataFrame:
    """Exact decimals as integers where 64 bits hold them, else as text of all digits."""
    exact = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal)]
    most = max([abs(int(value)) for name in exact for value in frame[name].drop_nulls()], default=0)
    return frame.with_columns(pl.col(exact).cast(pl.Int64 if most < 2**63 else pl.String))


def goodput_text(answer: GoodputAnswer) -> str:
    """The sentence of each job, its ledger, what was lost by owner and cause, and what was noticed."""
    if answer.training.jobs.is_empty():
        return answer.summary
    parts = [answer.summary]
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
            "share": words.share(row["share"]),
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
            "share": words.share(row["share"]),
            "cost": "" if row["cost"] is None else f"{row['cost']:,.2f}",
        }
        for row in lost.head(_SHOWN).iter_rows(named=True)
    ]
    rest = lost.slice(_SHOWN)
    if len(rest):
        rows.append({
            "leaf": f"{len(rest)} more", "owner": "", "cause": "", "accelerator-seconds": _seconds(rest["ns"].sum()),
            "share": words.share(float(rest["share"].sum())),
            "cost": "" if rest["cost"].null_count() else f"{rest['cost'].sum():,.2f}",
        })  # fmt: skip
    return _right(_without_empty(pl.DataFrame(rows)), "accelerator-seconds", "share", "cost")


def _culprit_table(culprits: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "who": straggler_text(row),
            "stage": row["stage"],
            "operation": row["operation"],
            "steps": f"{row['first_step']}–{row['last_step']} ({row['steps']})",
            "accelerator-seconds": _seconds(row["lost_ns"]),
        }
        for row in culprits.iter_rows(named=True)
    ]
    return _right(pl.DataFrame(rows), "accelerator-seconds")


def _scaling_table(scaling: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "accelerators": f"{row['world_size']:,}",
            "steps": f"{row['steps']:,}",
            "a step": duration_text(row["step_ns"]),
            "efficiency": words.share(row["efficiency"]),
        }
        for row in scaling.iter_rows(named=True)
    ]
    return _right(pl.DataFrame(rows), "accelerators", "steps", "a step", "efficiency")


def failures_text(answer: FailuresAnswer) -> str:
    """The sentence, then a row a failure in order of time."""
    incidents = answer.training.incidents
    if incidents.is_empty():
        return answer.summary
    rows = [
        {
            "failure": row["id"],
            "onset": words.moment(row["onset_ns"]),
            "first cause": culprit_text(row),
            "owner": row["owner"],
            "manner": row["manner"],
            "noticed after": duration_text(row["declared_ns"] - row["onset_ns"]),
            "followed": f"{row['blast_radius']:,}",
            "lost": hours_text(int(row["lost_ns"] or 0)),
            "resumed from": _resumed(row),
        }
        for row in incidents.iter_rows(named=True)
    ]
    return f"{answer.summary}\n\n{table(_right(pl.DataFrame(rows), 'followed', 'lost', 'noticed after'))}"


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


__all__ = ["failures_output", "failures_text", "goodput_output", "goodput_text", "share_text"]
