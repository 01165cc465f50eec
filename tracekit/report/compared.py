"""A comparison as rows, as an object, and as a text."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import CompareAnswer
from tracekit.output import Output, table
from tracekit.report.answers import text_for
from tracekit.wording import duration_text, interval_text, share_text

_SHOWN_STAGES = 8


def compare_output(answer: CompareAnswer) -> Output:
    """Rows: one a metric and stage. Object: the documented JSON of `tracekit compare`."""
    return Output(answer.stages, answer.as_dict(), compare_text(answer))


@text_for(CompareAnswer)
def compare_text(answer: CompareAnswer) -> str:
    """The summary, then metrics with their stages, and how requests ended."""
    parts = [answer.summary]
    if len(answer.metrics):
        parts += ["", "At the same mix of requests:", table(_change_table(answer))]
    told = answer.outcomes.filter((pl.col("before") > 0) | (pl.col("after") > 0))
    if len(told):
        parts += ["", "How requests ended:", table(_outcome_table(told))]
    return "\n".join(parts)


def _change_table(answer: CompareAnswer) -> pl.DataFrame:
    lines = []
    for metric in answer.metrics.iter_rows(named=True):
        lines.append(_line(metric["metric"], "all", metric))
        stages = answer.stages.filter(metric=metric["metric"]).head(_SHOWN_STAGES)
        lines += [_line(metric["metric"], row["stage"], row) for row in stages.iter_rows(named=True)]
    return pl.DataFrame(lines)


def _line(metric: str, stage: str, row: dict[str, object]) -> dict[str, str]:
    before, after, excess, low, high = (row[f"{name}_ns"] for name in ("before", "after", "excess", "low", "high"))
    return {
        "metric": metric,
        "stage": stage,
        "before": duration_text(before),  # type: ignore[arg-type]
        "after": duration_text(after),  # type: ignore[arg-type]
        "change": duration_text(excess),  # type: ignore[arg-type]
        "relative": share_text(row["relative"]),  # type: ignore[arg-type]
        "95 % interval": interval_text(low, high),  # type: ignore[arg-type]
        "significant": {True: "yes", False: "no", None: "not known"}[row["significant"]],  # type: ignore[index]
    }


def _outcome_table(outcomes: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "outcome": row["outcome"],
            "before": share_text(row["before"]),
            "after": share_text(row["after"]),
            "significant": {True: "yes", False: "no", None: "not known"}[row["significant"]],
        }
        for row in outcomes.iter_rows(named=True)
    ]
    return pl.DataFrame(rows)
