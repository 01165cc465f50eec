"""Each answer as rows, as an object, and as a text that a person reads first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import polars as pl

from tracekit.analysis import Answer, QualityAnswer, StragglersAnswer, TailAnswer, kind_of
from tracekit.output import Output, table
from tracekit.wording import culprit_text, duration_text, interval_text, share_text

# Of attribute values that the text shows: their false discovery rate or, where none is known, how much more frequent
# they are in how many units.
_CHANCE = 0.05
_MUCH_MORE = 0.3
_ENOUGH = 10


Text = TypeVar("Text", bound=Callable[[Any], str])

_TEXTS: dict[type, Callable[[Any], str]] = {}


def text_for(kind: type) -> Callable[[Text], Text]:
    """Register a function as the one that lays out answers of a class for a terminal."""

    def register(lay_out: Text) -> Text:
        _TEXTS[kind] = lay_out
        return lay_out

    return register


def answer_text(answer: Answer) -> str:
    """An answer for a terminal; without a layout of its own the summary, then its main frame."""
    lay_out = _TEXTS.get(type(answer))
    if lay_out is not None:
        return lay_out(answer)
    rows = _main_frame(answer)
    return answer.summary if rows.is_empty() else f"{answer.summary}\n\n{table(rows)}"


def answer_output(answer: Answer) -> Output:
    """Any answer in all formats. Rows: its main frame. Object: the JSON of its command, `as_dict`."""
    return Output(_main_frame(answer), answer.as_dict(), answer_text(answer))


def _main_frame(answer: Answer) -> pl.DataFrame:
    frame: pl.DataFrame = getattr(answer, kind_of(answer).rows)
    return frame


@text_for(TailAnswer)
def tail_text(answer: TailAnswer) -> str:
    """The summary, then the stages, largest excess first, in units that people read."""
    if not len(answer.stages):
        return answer.summary
    parts = [f"{answer.summary}\n", table(_stage_table(answer))]
    if len(answer.causes):
        parts += ["", "Who was waited for:", table(_cause_table(answer.causes))]
    if len(clear := _clear_differences(answer.differences)):
        parts += ["", "More frequent among the slow:", table(_difference_table(clear))]
    parts += [_evidence_line(answer)]
    return "\n".join(parts)


def _stage_table(answer: TailAnswer) -> pl.DataFrame:
    ordered = answer.stages
    if not len(answer.growth):
        ordered = ordered.sort(pl.col("excess_ns").abs(), "stage", descending=[True, False])
    rows = [
        {
            "stage": row["stage"],
            "owner": row["owner"],
            "tail": duration_text(row["tail_mean_ns"]),
            "baseline": duration_text(row["baseline_mean_ns"]),
            "excess": duration_text(row["excess_ns"]),
            "share": share_text(row["share"]),
            "95 % interval": interval_text(row["low_ns"], row["high_ns"]),
            "significant": {True: "yes", False: "no", None: "not known"}[row["significant"]],
            "± ambiguity": duration_text(row["ambiguity_ns"]),
        }
        for row in ordered.iter_rows(named=True)
    ]
    frame = pl.DataFrame([*rows, _total_row(answer)])
    return flush_right(frame, "tail", "baseline", "excess", "share", "95 % interval", "± ambiguity")


def flush_right(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with texts that are numbers flush right, so that their size is seen."""
    widths = {name: max([len(name), *(len(text) for text in frame[name])]) for name in columns}
    return frame.with_columns(pl.col(name).str.pad_start(width) for name, width in widths.items())


def _total_row(answer: TailAnswer) -> dict[str, str]:
    return {
        "stage": "total",
        "owner": "",
        "tail": duration_text(answer.tail_mean_ns),
        "baseline": duration_text(answer.baseline_mean_ns),
        "excess": duration_text(answer.excess_ns),
        "share": "",
        "95 % interval": interval_text(answer.low_ns, answer.high_ns),
        "significant": {True: "yes", False: "no", None: "not known"}[answer.significant],
        "± ambiguity": "",
    }


def _cause_table(causes: pl.DataFrame, *, limit: int = 8) -> pl.DataFrame:
    ordered = causes.sort("excess_ns", descending=True)
    rows = [
        {
            "rank": "not known" if row["culprit_rank"] is None else str(row["culprit_rank"]),
            "stage": row["culprit_stage"],
            "operation": row["culprit_operation"],
            "excess": duration_text(row["excess_ns"]),
        }
        for row in ordered.head(limit).iter_rows(named=True)
    ]
    rest = ordered.slice(limit)
    if len(rest):
        excess = duration_text(int(rest["excess_ns"].sum()))
        rows.append({"rank": "", "stage": f"{len(rest)} more", "operation": "", "excess": excess})
    return flush_right(pl.DataFrame(rows), "excess")


def _clear_differences(differences: pl.DataFrame, *, limit: int = 5) -> pl.DataFrame:
    """Attribute values that are more frequent in the tail, the largest difference first.

    Beyond chance, or by so much where nothing is known of chance that a person would look there first.
    """
    more = pl.col("tail_share") - pl.col("rest_share")
    by_eye = pl.col("adjusted_p").is_null() & (more >= _MUCH_MORE) & (pl.col("tail_count") >= _ENOUGH)
    return differences.filter(((pl.col("adjusted_p") < _CHANCE) & (more > 0)) | by_eye).head(limit)


def _difference_table(differences: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "attribute": row["dimension"],
            "value": row["value"],
            "slow": share_text(row["tail_share"]),
            "rest": share_text(row["rest_share"]),
            "beyond chance": "not known" if row["adjusted_p"] is None else "yes",
        }
        for row in differences.iter_rows(named=True)
    ]
    return flush_right(pl.DataFrame(rows), "slow", "rest")


def _evidence_line(answer: TailAnswer) -> str:
    left_out = [f"{row['unit_count']:,} {row['reason']}" for row in answer.left_out.iter_rows(named=True)]
    parts = [f"Data: {answer.evidence.verdict}", *answer.evidence.reasons]
    if left_out:
        parts.append(f"left out: {', '.join(left_out)}")
    return "; ".join(parts) + "."


@text_for(StragglersAnswer)
def stragglers_text(answer: StragglersAnswer) -> str:
    """One sentence, then the culprits, largest loss first."""
    if answer.culprits.is_empty():
        return answer.summary
    return f"{answer.summary}\n\n{table(_culprit_table(answer.culprits))}"


def culprit_cells(row: dict[str, Any]) -> dict[str, Any]:
    """Who is named for what in which steps: the first cells of a row about a straggler."""
    steps = f"{row['first_step']}–{row['last_step']} ({row['steps']})"
    return {"who": culprit_text(row), "stage": row["stage"], "operation": row["operation"], "steps": steps}


def _culprit_table(culprits: pl.DataFrame) -> pl.DataFrame:
    rows = [
        culprit_cells(row) | {"lost": duration_text(row["lost_ns"]), "share": share_text(row["share"])}
        for row in culprits.iter_rows(named=True)
    ]
    return flush_right(pl.DataFrame(rows), "lost", "share")


@text_for(QualityAnswer)
def quality_text(answer: QualityAnswer) -> str:
    """The verdict, its reasons, and the checks that found something."""
    found = answer.checks.filter(pl.col("severity") != "ok")
    head = f"Verdict: {answer.verdict}." + "".join(f"\n- {reason}" for reason in answer.reasons)
    if not len(found):
        return head
    return f"{head}\n\n{table(found.select('check', 'severity', 'count', 'total', 'message'))}"
