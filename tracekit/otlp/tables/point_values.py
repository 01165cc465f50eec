"""The values of metric points: numbers, histograms of both kinds, summaries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.reading import Reading
from tracekit.otlp.wire.fields import CODE
from tracekit.records import METRIC_HISTOGRAMS, METRIC_POINTS, METRIC_SUMMARIES, Reason

_NO_RECORDED_VALUE = 1


def _number_values(reading: Reading, verdict: Verdict) -> pa.Table:
    record = "NumberDataPoint"
    found = _times(reading, record, verdict)
    has_int, has_double = reading.rows.is_set(f"{record}.as_int"), reading.rows.is_set(f"{record}.as_double")
    has_flag = reading.rows.number(f"{record}.flags") & _NO_RECORDED_VALUE != 0
    verdict.reject(~(has_int | has_double | has_flag), Reason.POINT_WITHOUT_VALUE)
    found["value_int"] = columns.numbers(reading.rows.number(f"{record}.as_int"), pa.int64(), is_valid=has_int)
    found["value_double"] = columns.doubles(reading.rows.number(f"{record}.as_double"), is_valid=has_double)
    return _table(found, METRIC_POINTS, reading.rows.length(record))


def _histogram_values(reading: Reading, verdict: Verdict) -> pa.Table:
    record = "HistogramDataPoint"
    found = _times(reading, record, verdict) | _statistics(reading, record)
    found["explicit_bounds"], bound_counts = _list(reading, f"{record}.explicit_bounds", pa.float64())
    found["bucket_counts"], bucket_counts = _list(reading, f"{record}.bucket_counts", pa.uint64())
    fits = (bucket_counts == bound_counts + 1) | ((bucket_counts == 0) & (bound_counts == 0))
    verdict.reject(~fits, Reason.HISTOGRAM_SHAPE, CODE[f"{record}.bucket_counts"])
    return _table(found, METRIC_HISTOGRAMS, reading.rows.length(record))


def _exponential_values(reading: Reading, verdict: Verdict) -> pa.Table:
    record = "ExponentialHistogramDataPoint"
    found = _times(reading, record, verdict) | _statistics(reading, record)
    found["scale"] = reading.small(f"{record}.scale", pa.int32(), verdict)
    found["zero_count"] = columns.numbers(reading.rows.number(f"{record}.zero_count"), pa.uint64())
    found["zero_threshold"] = columns.doubles(reading.rows.number(f"{record}.zero_threshold"))
    for side in ("positive", "negative"):
        is_there = reading.rows.is_set(f"{record}.{side}")
        offset = reading.small(f"{record}.{side}.offset", pa.int32(), verdict, is_valid=is_there)
        found[f"{side}_offset"] = offset
        found[f"{side}_counts"], _ = _list(reading, f"{record}.{side}.bucket_counts", pa.uint64(), is_valid=is_there)
    return _table(found, METRIC_HISTOGRAMS, reading.rows.length(record))


def _summary_values(reading: Reading, verdict: Verdict) -> pa.Table:
    record = "SummaryDataPoint"
    found = _times(reading, record, verdict)
    found["count"] = columns.numbers(reading.rows.number(f"{record}.count"), pa.uint64())
    found["sum"] = columns.doubles(reading.rows.number(f"{record}.sum"))
    counts = np.bincount(reading.rows.parents("ValueAtQuantile"), minlength=reading.rows.length(record))
    offsets = columns.cast_numbers(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    for name, field in (("quantiles", "quantile"), ("values", "value")):
        values = columns.doubles(reading.rows.number(f"ValueAtQuantile.{field}"))
        found[name] = pa.ListArray.from_arrays(offsets, values)
    return _table(found, METRIC_SUMMARIES, reading.rows.length(record))


def _times(reading: Reading, record: str, verdict: Verdict) -> dict[str, pa.Array]:
    start_ns = reading.time(f"{record}.start_time_unix_nano", verdict, needed=False)
    time_ns = reading.time(f"{record}.time_unix_nano", verdict, needed=True)
    return {
        "start_ns": columns.numbers(start_ns, pa.int64(), is_valid=start_ns != 0),
        "time_ns": columns.numbers(time_ns, pa.int64()),
        "flags": reading.small(f"{record}.flags", pa.uint32(), verdict),
    }


def _statistics(reading: Reading, record: str) -> dict[str, pa.Array]:
    found = {"count": columns.numbers(reading.rows.number(f"{record}.count"), pa.uint64())}
    for name in ("sum", "min", "max"):
        field = f"{record}.{name}"
        found[name] = columns.doubles(reading.rows.number(field), is_valid=reading.rows.is_set(field))
    return found


def _list(
    reading: Reading, field: str, kind: pa.DataType, *, is_valid: np.ndarray | None = None
) -> tuple[pa.Array, np.ndarray]:
    """A repeated number as a column of lists, and the length of each row's list."""
    entries, offsets = reading.repeated(field)
    values = columns.numbers(reading.source.events["value"][entries], kind)
    mask = None if is_valid is None else pa.array(~is_valid)
    lists = pa.ListArray.from_arrays(columns.cast_numbers(offsets, pa.int32()), values, mask=mask)
    return lists, np.diff(offsets)


def _table(found: dict[str, pa.Array], schema: pa.Schema, row_count: int) -> pa.Table:
    """The columns but `stream_row`, null where the kind of point has none."""
    wanted = schema.remove(0)
    return pa.table([found.get(each.name, pa.nulls(row_count, each.type)) for each in wanted], schema=wanted)


POINT_VALUES: dict[str, tuple[str, Callable[[Reading, Verdict], pa.Table]]] = {
    "NumberDataPoint": ("metric_points", _number_values),
    "HistogramDataPoint": ("metric_histograms", _histogram_values),
    "ExponentialHistogramDataPoint": ("metric_histograms", _exponential_values),
    "SummaryDataPoint": ("metric_summaries", _summary_values),
}
"""Record type of a point to its table and the function that makes the table's columns."""
