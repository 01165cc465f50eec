"""What counters and gauges say, in plain sentences."""

from __future__ import annotations

from typing import Any

from tracekit.analysis import MetricsAnswer, words_for
from tracekit.wording.numbers import counted, duration_text, moment_text, share_text

_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")


@words_for(MetricsAnswer)
def metrics_summary(answer: MetricsAnswer) -> str:
    """What there is, or who has most of what was asked for."""
    if answer.verdict == "no_metrics":
        return "The store holds no metrics."
    if answer.verdict == "listed":
        names, series = answer.catalogue["metric"].n_unique(), int(answer.catalogue["series_count"].sum())
        return f"{series:,} series of {counted(names, 'metric')}."
    if answer.verdict == "no_values":
        return f"{answer.metric} has no reading that a value follows from: counters take two, or a start."
    return f"{answer.metric}{_most(answer)}"


def quantity_text(value: float | None, unit: str | None) -> str:
    """A value of a metric in its unit: shares in per cent, seconds as durations, bytes with decimal prefixes."""
    if value is None or value != value:
        return "not known"
    if unit == "1":
        return share_text(value)
    if unit == "s":
        return duration_text(value * 1e9)
    if unit == "By":
        return _bytes_text(value)
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if unit is None:
        return number
    return f"{number} {unit}" if not unit.startswith("{") else f"{number} {unit[1:-1]}{'' if number == '1' else 's'}"


def _bytes_text(value: float) -> str:
    power = 0
    while abs(value) >= 1000 and power < len(_BYTE_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.4g} {_BYTE_UNITS[power]}"


def _most(answer: MetricsAnswer) -> str:
    """The group and window with the most, by what its kind is about."""
    values = answer.values
    kind = values["kind"][0]
    column = {"gauge": "largest", "sum": "rate_per_s", "histogram": "p99"}[kind]
    known = values.drop_nulls(column)
    if known.is_empty():
        return f": {counted(len(values), 'row')}, none with a {column.replace('_', ' ')}."
    row = known.sort(column, descending=True, maintain_order=True).row(0, named=True)
    where = _where(row, is_windowed=values["start_ns"].n_unique() > 1)
    return {
        "gauge": f" was highest{where}: {quantity_text(row['largest'], answer.unit)} at most, "
        f"{quantity_text(row['mean'], answer.unit)} on average.",
        "sum": f" rose most{where}: by {quantity_text(row['increase'], answer.unit)}, "
        f"{quantity_text(row['rate_per_s'], answer.unit)} a second.",
        "histogram": f" was highest{where}: p99 about {quantity_text(row['p99'], answer.unit)} "
        f"(an estimate from buckets: {_range(row, answer.unit)}), mean {quantity_text(row['mean'], answer.unit)}.",
    }[kind]


def _range(row: dict[str, Any], unit: str | None) -> str:
    low, high = (quantity_text(row[name], unit) for name in ("p99_low", "p99_high"))
    if row["p99_low"] is None and row["p99_high"] is None:
        return "nothing bounds it"
    if row["p99_high"] is None:
        return f"at least {low}"
    return f"at most {high}" if row["p99_low"] is None else f"{low} to {high}"


def _where(row: dict[str, Any], *, is_windowed: bool) -> str:
    named = [row[name] for name in ("service_name", "host_name", "model") if row[name] is not None]
    place = f" on {', '.join(named)}" if named else ""
    return f"{place} at {moment_text(row['start_ns'])}" if is_windowed else place
