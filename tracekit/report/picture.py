"""The whole picture of a store: what is in it, what it can bear, and the headline of every question."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import (
    FailuresAnswer,
    GoodputAnswer,
    QualityAnswer,
    StragglersAnswer,
    TailAnswer,
    failures,
    goodput,
    quality,
    stragglers,
    tail,
)
from tracekit.analysis.measured import Metric
from tracekit.output import Output, table
from tracekit.report import words
from tracekit.report.answers import quality_text, stragglers_text, tail_text
from tracekit.report.job_answers import failures_text, goodput_text
from tracekit.store import Database

QUESTIONS: dict[Metric, str] = {
    "ttft": "What made the first token of the slow requests late?",
    "tpot": "What made the tokens of the slow requests slow?",
    "e2e": "What made the slow requests slow from end to end?",
    "step": "What made the slow training steps slow?",
}


def report(database: Database) -> Output:
    """What is in the store, its quality, and for each metric that it has the tail.

    rows: one row a metric and stage (`metric, stage, owner, excess_ns, share, significant`).
    json: `contents`, `outcomes`, `quality`, `tails` by metric, `stragglers`, `goodput`, `failures`.
    """
    contents = database.query("explore/store_contents").row(0, named=True)
    outcomes = database.query("explore/unit_outcomes")
    verdict = quality(database)
    tails = {metric: tail(database, metric) for metric in QUESTIONS}
    tails = {metric: answer for metric, answer in tails.items() if answer.count}
    ranks = stragglers(database) if "step" in tails else None
    jobs = (goodput(database), failures(database))
    sections = [*_sections(contents, outcomes, verdict, tails, ranks), *_job_sections(*jobs)]
    return Output(
        rows=_rows(tails),
        json=_json(contents, outcomes, verdict, tails, ranks) | _jobs_json(*jobs),
        text="\n\n".join(sections),
    )


def _job_sections(ledgers: GoodputAnswer, incidents: FailuresAnswer) -> list[str]:
    """The ledgers of jobs and what failed in them; nothing where there is no job."""
    if ledgers.training.jobs.is_empty():
        return []
    return [
        f"# Where did the paid accelerator time go?\n\n{goodput_text(ledgers)}",
        f"# What failed first?\n\n{failures_text(incidents)}",
    ]


def _jobs_json(ledgers: GoodputAnswer, incidents: FailuresAnswer) -> dict[str, Any]:
    return {"goodput": ledgers.as_dict(), "failures": incidents.as_dict()}


def _rows(tails: dict[Metric, TailAnswer]) -> pl.DataFrame:
    columns = ["stage", "owner", "excess_ns", "share", "significant"]
    frames = [answer.stages.select(pl.lit(metric).alias("metric"), *columns) for metric, answer in tails.items()]
    return pl.concat(frames) if frames else pl.DataFrame()


def _json(
    contents: dict[str, Any],
    outcomes: pl.DataFrame,
    verdict: QualityAnswer,
    tails: dict[Metric, TailAnswer],
    ranks: StragglersAnswer | None,
) -> dict[str, Any]:
    return {
        "contents": contents,
        "outcomes": outcomes.to_dicts(),
        "quality": verdict.as_dict(),
        "tails": {metric: answer.as_dict() for metric, answer in tails.items()},
        "stragglers": None if ranks is None else ranks.as_dict(),
    }


def _sections(
    contents: dict[str, Any],
    outcomes: pl.DataFrame,
    verdict: QualityAnswer,
    tails: dict[Metric, TailAnswer],
    ranks: StragglersAnswer | None,
) -> list[str]:
    sections = [f"# What is in the store\n\n{_contents_text(contents)}"]
    if len(outcomes):
        sections.append(_outcomes_text(outcomes))
    sections.append(f"# Quality\n\n{quality_text(verdict)}")
    sections += [f"# {QUESTIONS[metric]} ({metric})\n\n{tail_text(answer)}" for metric, answer in tails.items()]
    if ranks is not None:
        sections.append(f"# Which rank made the others wait?\n\n{stragglers_text(ranks)}")
    return sections


def _contents_text(contents: dict[str, Any]) -> str:
    parts = [
        words.count(contents["span_count"], "span"),
        words.count(contents["metric_point_count"], "metric point"),
        words.count(contents["log_count"], "log record"),
        f"from {words.count(contents['service_count'], 'service')}",
    ]
    period = f"{words.moment(contents['first_ns'])} to {words.moment(contents['last_ns'])}"
    return ", ".join(parts) + (f"; {period}." if contents["span_count"] else ".")


def _outcomes_text(outcomes: pl.DataFrame) -> str:
    return table(outcomes.select("kind", "outcome", pl.col("unit_count").alias("units")))
