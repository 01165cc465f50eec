"""Metric streams, their points of every kind, and exemplars, as tables.

A stream row is one point's metric and attributes; rows repeat where points share them. The rows of the
point tables name their stream by `stream_row`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.containers import Containers
from tracekit.otlp.tables.exemplars import Exemplars
from tracekit.otlp.tables.point_values import POINT_VALUES
from tracekit.otlp.tables.reading import Reading, kept_rows
from tracekit.otlp.wire.fields import CODE
from tracekit.records import METRIC_STREAMS, Reason

_KINDS = ("gauge", "sum", "histogram", "exponential_histogram", "summary")
_KIND_OF_CODE = {CODE[f"Metric.{kind}.data_points"]: number for number, kind in enumerate(_KINDS)}
_WITH_TEMPORALITY = ("sum", "histogram", "exponential_histogram")


@dataclass(frozen=True)
class _Metrics:
    """The metrics of a reading, a row each; points take what they need by their metric's row."""

    texts: dict[str, pa.ChunkedArray]
    temporality: dict[str, np.ndarray]
    is_monotonic: np.ndarray
    verdict: Verdict
    scopes: np.ndarray
    resources: np.ndarray
    documents: np.ndarray


def metric_tables(
    reading: Reading, around: Containers, *, first_resource: int, first_scope: int
) -> dict[str, pa.Table]:
    """The five metric tables and `exemplars` of the points that can be stored.

    `first_resource` and `first_scope` are the rows that the signal's resources and scopes begin at in the
    batch.
    """
    metrics = _metrics(reading, around, first_resource, first_scope)
    exemplars = Exemplars(reading)
    found: dict[str, list[pa.Table]] = {}
    first_stream = 0
    for record, (table_name, values) in POINT_VALUES.items():
        if reading.rows.length(record) == 0:
            continue
        documents = metrics.documents[reading.rows.parents(record)]
        verdict = reading.verdict(record)
        verdict.inherit(metrics.verdict, reading.rows.parents(record))
        points = values(reading, verdict)
        exemplars.reject_points(record, verdict)
        streams = _streams(reading, record, metrics, verdict)
        points, streams = kept_rows(points, verdict.is_kept), kept_rows(streams, verdict.is_kept)
        stream_rows = columns.numbers(first_stream + np.arange(len(points)), pa.int64())
        found.setdefault(table_name, []).append(points.add_column(0, "stream_row", stream_rows))
        found.setdefault("metric_streams", []).append(streams)
        found.setdefault("exemplars", []).append(exemplars.table(record, verdict, documents, first_stream=first_stream))
        reading.log.add_verdict("metrics", verdict, documents)
        first_stream += len(points)
    _report_empty_metrics(reading, metrics)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def _metrics(reading: Reading, around: Containers, first_resource: int, first_scope: int) -> _Metrics:
    scopes = reading.rows.parents("Metric")
    documents = around.document_of_scope[scopes]
    verdict = reading.verdict("Metric", outside=POINT_VALUES)
    metadata, repeated = reading.attributes("Metric.metadata", verdict)
    reading.note_repeated("metrics", "Metric.metadata", repeated, documents)
    texts = {name: reading.text(f"Metric.{name}", verdict) for name in ("name", "description", "unit")}
    return _Metrics(
        texts={**texts, "metadata": metadata},
        temporality={
            kind: reading.small(f"Metric.{kind}.aggregation_temporality", pa.uint8(), verdict).to_numpy()
            for kind in _WITH_TEMPORALITY
        },
        is_monotonic=reading.rows.number("Metric.sum.is_monotonic") != 0,
        verdict=verdict,
        scopes=scopes + first_scope,
        resources=around.resource_of_scope[scopes] + first_resource,
        documents=documents,
    )


def _streams(reading: Reading, record: str, metrics: _Metrics, verdict: Verdict) -> pa.Table:
    rows = reading.rows.parents(record)
    kinds = np.array([_KIND_OF_CODE.get(code, 0) for code in range(max(_KIND_OF_CODE) + 1)])[reading.rows.codes(record)]
    attributes, repeated = reading.attributes(f"{record}.attributes", verdict)
    repeated = np.where(verdict.is_kept, repeated, 0)
    reading.note_repeated("metrics", f"{record}.attributes", repeated, metrics.documents[rows])
    temporality, has_temporality = _temporality(metrics, rows, kinds)
    _note_unspecified(reading, verdict, has_temporality & (temporality == 0), metrics.documents[rows])
    found = {
        "resource_row": columns.cast_numbers(metrics.resources[rows], pa.int32()),
        "scope_row": columns.cast_numbers(metrics.scopes[rows], pa.int32()),
        **{name: text.take(pa.array(rows)) for name, text in metrics.texts.items()},
        "kind": pa.array(_KINDS).take(pa.array(kinds)),
        "temporality": columns.cast_numbers(temporality, pa.uint8(), is_valid=has_temporality),
        "is_monotonic": pa.array(metrics.is_monotonic[rows], mask=kinds != _KINDS.index("sum")),
        "attributes": attributes,
        "document_row": columns.cast_numbers(metrics.documents[rows], pa.int32()),
    }
    return pa.table([found[name] for name in METRIC_STREAMS.names], schema=METRIC_STREAMS)


def _temporality(metrics: _Metrics, rows: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Temporality of each point's metric, and whether its kind has one."""
    temporality, has_temporality = np.zeros(len(rows), np.uint8), np.zeros(len(rows), np.bool_)
    for kind, of_metric in metrics.temporality.items():
        chosen = kinds == _KINDS.index(kind)
        temporality[chosen] = of_metric[rows[chosen]]
        has_temporality |= chosen
    return temporality, has_temporality


def _note_unspecified(reading: Reading, verdict: Verdict, is_unspecified: np.ndarray, documents: np.ndarray) -> None:
    rows = np.flatnonzero(is_unspecified & verdict.is_kept)
    if len(rows):
        reading.log.add(
            "metrics", Reason.TEMPORALITY_UNSPECIFIED, kind="note", documents=documents[rows],
            positions=verdict.position[rows],
        )  # fmt: skip


def _report_empty_metrics(reading: Reading, metrics: _Metrics) -> None:
    """Reports the faults of metrics without points, which no point inherits."""
    has_points = np.zeros(len(metrics.scopes), np.bool_)
    for record in POINT_VALUES:
        has_points[reading.rows.parents(record)] = True
    metrics.verdict.reason[has_points] = 0
    reading.log.add_verdict("metrics", metrics.verdict, metrics.documents)
