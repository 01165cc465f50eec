"""Metric points of every kind decode to what the official parser reads, from either encoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message
from hypothesis import given
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData

from tests.unit.otlp import messages, oracle
from tracekit.otlp import Batch, Document, decode

Row = dict[str, Any]
POINT_TYPES = ("NumberDataPoint", "HistogramDataPoint", "ExponentialHistogramDataPoint", "SummaryDataPoint")


def points(data: MetricsData) -> Iterator[tuple[Row, Metric, Message]]:
    """Each point with its place, in the order of the streams: by type of point, then as sent."""
    placed = list(oracle.placed_records(data, "metrics"))
    for point_type in POINT_TYPES:
        for place, metric in placed:
            member = metric.WhichOneof("data")
            for point in getattr(metric, member).data_points if member else ():
                if type(point).__name__ == point_type:
                    yield place, metric, point


def stream_rows(data: MetricsData) -> list[Row]:
    rows = []
    for place, metric, point in points(data):
        kind = metric.WhichOneof("data")
        content = getattr(metric, kind)
        rows.append({
            **place,
            "name": metric.name, "description": metric.description, "unit": metric.unit, "kind": kind,
            "temporality": getattr(content, "aggregation_temporality", None),
            "is_monotonic": content.is_monotonic if kind == "sum" else None,
            "attributes": oracle.attribute_object(point.attributes),
            "metadata": oracle.attribute_object(metric.metadata), "document_row": 0,
        })  # fmt: skip
    return rows


def times(row: int, point: Message) -> Row:
    return {
        "stream_row": row, "start_ns": point.start_time_unix_nano or None, "time_ns": point.time_unix_nano,
        "flags": point.flags,
    }  # fmt: skip


def member(point: Message, name: str) -> object:
    return oracle.plain(getattr(point, name)) if point.HasField(name) else None


def number_row(row: int, point: Message) -> Row:
    return {
        **times(row, point),
        "value_int": member(point, "as_int"),
        "value_double": member(point, "as_double"),
    }


def histogram_row(row: int, point: Message) -> Row:
    is_explicit = hasattr(point, "explicit_bounds")
    sides = {} if is_explicit else {"positive": "positive", "negative": "negative"}
    buckets: Row = {
        "positive_offset": None,
        "positive_counts": None,
        "negative_offset": None,
        "negative_counts": None,
    }
    for side in sides:
        if point.HasField(side):
            buckets[f"{side}_offset"] = getattr(point, side).offset
            buckets[f"{side}_counts"] = list(getattr(point, side).bucket_counts)
    return {
        **times(row, point),
        "count": point.count,
        **{name: member(point, name) for name in ("sum", "min", "max")},
        "explicit_bounds": oracle.plain(list(point.explicit_bounds)) if is_explicit else None,
        "bucket_counts": list(point.bucket_counts) if is_explicit else None,
        "scale": None if is_explicit else point.scale,
        "zero_count": None if is_explicit else point.zero_count,
        "zero_threshold": None if is_explicit else oracle.plain(point.zero_threshold),
        **buckets,
    }


def summary_row(row: int, point: Message) -> Row:
    return {
        **times(row, point), "count": point.count, "sum": oracle.plain(point.sum),
        "quantiles": oracle.plain([each.quantile for each in point.quantile_values]),
        "values": oracle.plain([each.value for each in point.quantile_values]),
    }  # fmt: skip


def point_rows(data: MetricsData, types: set[str], row_of: Any) -> list[Row]:
    return [row_of(row, point) for row, (_, _, point) in enumerate(points(data)) if type(point).__name__ in types]


def exemplar_rows(data: MetricsData) -> list[Row]:
    return [
        {
            "stream_row": row, "point_time_ns": point.time_unix_nano, "time_ns": each.time_unix_nano,
            "value_int": member(each, "as_int"), "value_double": member(each, "as_double"),
            "trace_id": each.trace_id or None, "span_id": oracle.span_number(each.span_id),
            "attributes": oracle.attribute_object(each.filtered_attributes),
        }
        for row, (_, _, point) in enumerate(points(data))
        for each in getattr(point, "exemplars", ())
    ]  # fmt: skip


def assert_holds(batch: Batch, data: MetricsData) -> None:
    assert oracle.rows_of(batch.metric_streams, json_columns=("attributes", "metadata")) == stream_rows(data)
    assert oracle.rows_of(batch.metric_points) == point_rows(data, {"NumberDataPoint"}, number_row)
    histograms = {"HistogramDataPoint", "ExponentialHistogramDataPoint"}
    assert oracle.rows_of(batch.metric_histograms) == point_rows(data, histograms, histogram_row)
    assert oracle.rows_of(batch.metric_summaries) == point_rows(data, {"SummaryDataPoint"}, summary_row)
    assert oracle.rows_of(batch.exemplars, json_columns=("attributes",)) == exemplar_rows(data)
    assert oracle.resources_of(batch) == oracle.resource_rows(data)
    assert {each["reason"] for each in batch.rejects.to_pylist()} <= {"duplicate_attribute_key"}


@given(data=messages.metrics_data)
def test_protobuf_decodes_to_what_the_official_parser_reads(data: MetricsData) -> None:
    """Every field of every point and exemplar is in the tables; what is unset is told from what is 0."""
    assert_holds(decode([Document(data.SerializeToString())], encoding="protobuf", signal="metrics"), data)


@given(data=messages.metrics_data)
def test_json_decodes_to_the_same_tables(data: MetricsData) -> None:
    """The encodings meet: one document gives one batch, whichever way it was sent."""
    batch = decode([Document(messages.to_json(data))], encoding="json")
    assert_holds(batch, data)
    same = decode([Document(data.SerializeToString())], encoding="protobuf", signal="metrics")
    assert all(getattr(batch, name).equals(getattr(same, name)) for name in ("resources", "scopes", "logs", "spans"))
