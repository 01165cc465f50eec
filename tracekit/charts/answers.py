"""The chart of each answer that has one: what a notebook, a report and a page show of it."""

from __future__ import annotations

import altair as alt
import polars as pl

from tracekit.analysis import GoodputAnswer, JobGoodput, MetricsAnswer, RequestGoodput, TailAnswer, picture_for
from tracekit.charts.colours import BUCKET_COLOURS
from tracekit.charts.culprit import culprit
from tracekit.charts.durations import axis_unit
from tracekit.charts.excess import excess_by_stage
from tracekit.charts.metric_lines import metric_lines
from tracekit.charts.parts import parts_of_whole
from tracekit.schema import BUCKETS, METRIC_GROUPS
from tracekit.wording import period_text, quantity_text, share_text

METRIC_MEASURES = {
    "gauge": ("mean", "least", "largest"),
    "sum": ("rate_per_s",),
    "histogram": ("p99", "p90", "p50", "rate_per_s"),
}
"""What can be drawn of a metric by its kind, the most telling first."""


@picture_for(TailAnswer)
def tail_chart(answer: TailAnswer) -> alt.LayerChart | None:
    """The excess by stage, the culprit marked; None without units."""
    if answer.stages.is_empty():
        return None
    return excess_by_stage(answer.stages, culprit=culprit(answer.stages, verdict=answer.verdict))


@picture_for(JobGoodput)
def ledger_chart(answer: JobGoodput) -> alt.LayerChart | None:
    """Accelerator time by leaf, of all jobs of the answer together; the leaves sum to all that was requested."""
    if answer.leaves.is_empty():
        return None
    leaves = answer.leaves.group_by("leaf").agg(pl.col("ns").sum()).sort("ns", "leaf", descending=[True, False])
    total = int(leaves["ns"].sum())
    unit, unit_ns = axis_unit(int(max(leaves["ns"].to_list())))
    labels = [f"{period_text(int(ns))}  ·  {share_text(ns / total if total else None)}" for ns in leaves["ns"]]
    parts = leaves.select(part="leaf", amount=pl.col("ns").cast(pl.Float64) / unit_ns)
    return parts_of_whole(parts.with_columns(pl.Series("label", labels)), title=f"accelerator time ({unit})")


@picture_for(RequestGoodput)
def bucket_chart(answer: RequestGoodput) -> alt.LayerChart | None:
    """Requests by how each counts: good, or why not."""
    counts = {"good": answer.good} | {name: answer.buckets[name] for name in BUCKETS}
    if not any(counts.values()):
        return None
    labels = [f"{count:,}  ·  {share_text(count / max(answer.attempted, 1))}" for count in counts.values()]
    parts = pl.DataFrame({"part": list(counts), "amount": list(map(float, counts.values())), "label": labels})
    return parts_of_whole(parts, title="requests", colours=BUCKET_COLOURS)


@picture_for(GoodputAnswer)
def goodput_chart(answer: GoodputAnswer) -> alt.LayerChart | None:
    """The ledger of the jobs; without jobs, how each request counts."""
    drawn = ledger_chart(answer.training)
    return drawn if drawn is not None or answer.serving is None else bucket_chart(answer.serving)


@picture_for(MetricsAnswer)
def metric_chart(answer: MetricsAnswer) -> alt.LayerChart | None:
    """The course of a metric by its most telling measure; None where several are listed."""
    if answer.values.is_empty():
        return None
    return metric_course(answer, METRIC_MEASURES[answer.values["kind"][0]][0])


def metric_course(answer: MetricsAnswer, measure: str) -> alt.LayerChart:
    """A metric over time, one line a group; `measure` is one of `METRIC_MEASURES`."""
    values = answer.values
    unit = None if measure == "rate_per_s" and values["kind"][0] == "histogram" else answer.unit
    title = f"{measure.replace('_', ' ')}" + (f" ({unit})" if unit not in (None, "1") else "")
    return metric_lines(_lines(values.drop_nulls(measure), measure, unit), title=title, is_share=unit == "1")


def _lines(values: pl.DataFrame, measure: str, unit: str | None) -> pl.DataFrame:
    groups = pl.concat_str("sender_name", *METRIC_GROUPS, separator=" · ", ignore_nulls=True)
    ends = {"low": f"{measure}_low", "high": f"{measure}_high"}
    bounds = [
        pl.col(column).alias(name) if column in values.columns else pl.lit(None, dtype=pl.Float64).alias(name)
        for name, column in ends.items()
    ]
    texts = pl.Series("text", [quantity_text(value, unit) for value in values[measure]], dtype=pl.String)
    return values.select(groups.alias("group"), "start_ns", pl.col(measure).alias("value"), *bounds).with_columns(texts)
