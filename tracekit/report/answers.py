"""Each answer as rows, as an object, and as a text that a person reads first."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import QualityAnswer, StragglersAnswer, TailAnswer
from tracekit.analysis.durations import duration_text
from tracekit.analysis.stragglers import culprit_text
from tracekit.ingest import IngestReport
from tracekit.output import Output, table
from tracekit.report import words

# Of attribute values that the text shows: their false discovery rate or, where none is known, how much more frequent
# they are in how many units.
_CHANCE = 0.05
_MUCH_MORE = 0.3
_ENOUGH = 10


def tail_output(answer: TailAnswer) -> Output:
    """Rows: one a stage. Object: the documented JSON of `tracekit tail`."""
    return Output(answer.stages, answer.as_dict(), tail_text(answer))


def stragglers_output(answer: StragglersAnswer) -> Output:
    """Rows: one a culprit. Object: the documented JSON of `tracekit stragglers`."""
    return Output(answer.culprits, answer.as_dict(), stragglers_text(answer))


def quality_output(answer: QualityAnswer) -> Output:
    """Rows: one a check. Object: the documented JSON of `tracekit quality`."""
    return Output(answer.checks, answer.as_dict(), quality_text(answer))


def ingest_output(report: IngestReport) -> Output:
    """Rows: one a file. Object: the documented JSON of `tracekit ingest`."""
    files = [file.as_dict() for file in report.files]
    rows = pl.DataFrame([{name: value for name, value in file.items() if name != "rejects"} for file in files])
    return Output(rows, report.as_dict(), ingest_text(report))


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
    ordered = answer.stages.sort(pl.col("excess_ns").abs(), "stage", descending=[True, False])
    rows = [
        {
            "stage": row["stage"],
            "owner": row["owner"],
            "tail": duration_text(row["tail_mean_ns"]),
            "baseline": duration_text(row["baseline_mean_ns"]),
            "excess": duration_text(row["excess_ns"]),
            "share": words.share(row["share"]),
            "95 % interval": words.interval(row["low_ns"], row["high_ns"]),
            "significant": {True: "yes", False: "no", None: "not known"}[row["significant"]],
            "± ambiguity": duration_text(row["ambiguity_ns"]),
        }
        for row in ordered.iter_rows(named=True)
    ]
    frame = pl.DataFrame([*rows, _total_row(answer)])
    return _right(frame, "tail", "baseline", "excess", "share", "95 % interval", "± ambiguity")


def _right(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
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
        "95 % interval": words.interval(answer.low_ns, answer.high_ns),
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
    return _right(pl.DataFrame(rows), "excess")


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
            "slow": words.share(row["tail_share"]),
            "rest": words.share(row["rest_share"]),
            "beyond chance": "not known" if row["adjusted_p"] is None else "yes",
        }
        for row in differences.iter_rows(named=True)
    ]
    return _right(pl.DataFrame(rows), "slow", "rest")


def _evidence_line(answer: TailAnswer) -> str:
    left_out = [f"{row['unit_count']:,} {row['reason']}" for row in answer.left_out.iter_rows(named=True)]
    parts = [f"Data: {answer.evidence.verdict}", *answer.evidence.reasons]
    if left_out:
        parts.append(f"left out: {', '.join(left_out)}")
    return "; ".join(parts) + "."


def stragglers_text(answer: StragglersAnswer) -> str:
    """One sentence, then the culprits, largest loss first."""
    return (
        answer.summary if not len(answer.culprits) else f"{answer.summary}\n\n{table(_culprit_table(answer.culprits))}"
    )


def _culprit_table(culprits: pl.DataFrame) -> pl.DataFrame:
    rows = [
        {
            "who": culprit_text(row),
            "stage": row["stage"],
            "operation": row["operation"],
            "steps": f"{row['first_step']}–{row['last_step']} ({row['steps']})",
            "lost": duration_text(row["lost_ns"]),
            "share": words.share(row["share"]),
        }
        for row in culprits.iter_rows(named=True)
    ]
    return _right(pl.DataFrame(rows), "lost", "share")


def quality_text(answer: QualityAnswer) -> str:
    """The verdict, its reasons, and the checks that found something."""
    found = answer.checks.filter(pl.col("severity") != "ok")
    head = f"Verdict: {answer.verdict}." + "".join(f"\n- {reason}" for reason in answer.reasons)
    if not len(found):
        return head
    return f"{head}\n\n{table(found.select('check', 'severity', 'count', 'total', 'message'))}"


def ingest_text(report: IngestReport) -> str:
    """A line a file, the reasons under it, and the totals."""
    lines = []
    for file in report.files:
        counts = file.counts
        lines.append(
            f"{file.path}: {counts.spans:,} spans, {counts.metric_points:,} metric points, {counts.logs:,} logs, "
            f"{counts.duplicates:,} duplicates, {counts.rejected:,} rejected"
            + (f" ({file.format})" if file.format else "")
        )
        lines += [f"  {'skipped' if file.is_skipped else 'error'}: {file.error}"] if file.error else []
        lines += [
            f"  {reject.kind}: {reject.record_count:,} × {reject.reason}"
            + (f" from byte {reject.first_offset}" if reject.first_offset is not None else "")
            + (f": {reject.example}" if reject.example else "")
            for reject in counts.rejects
        ]
    lines.append(
        f"Total: {report.spans:,} spans, {report.metric_points:,} metric points, {report.logs:,} logs, "
        f"{report.duplicates:,} duplicates, {report.rejected:,} rejected"
    )
    return "\n".join(lines)
