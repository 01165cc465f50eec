"""What is emitted tells the same story on every way out, tells it exactly, and does not tell the answer."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from opentelemetry.exporter.otlp.json.file import FileMetricExporter, FileSpanExporter
from opentelemetry.proto_json.common.v1.common import AnyValue
from opentelemetry.proto_json.metrics.v1.metrics import MetricsData
from opentelemetry.proto_json.trace.v1.trace import TracesData

from generators import scenarios
from generators.bulk import attributes_json, tables
from generators.sdk_export import export_metrics, export_spans
from generators.serving import counters, dialects, stages
from generators.serving.bulk import batches
from generators.serving.parameters import DIALECTS
from generators.serving.simulation import Run
from generators.serving.timeline import stage_ns
from generators.spans import Emission, Optional

Short = Callable[..., Run]

STRESSED = {"clients__abort_share": 0.2, "engine__kv_tokens": 16000, "clients__rate_per_s": 30.0}


def emitted(run: Run, *, seed: int = 1) -> Emission:
    """Spans and counters of a run."""
    return counters.with_counters(dialects.emission(run, seed=seed), run)


def written_spans(emission: Emission) -> str:
    """The lines that the real file exporter writes."""
    stream = StringIO()
    export_spans(emission, FileSpanExporter(stream=stream))
    return stream.getvalue()


def plain(attributes: list[Any]) -> dict[str, Any]:
    """Attributes of the official JSON mapping as a dictionary."""
    return {one.key: next(v for v in vars_of(one.value) if v is not None) for one in attributes}


def vars_of(value: AnyValue) -> list[Any]:
    """The members of an AnyValue that scalars use."""
    return [value.string_value, value.bool_value, value.int_value, value.double_value]


def spans_of_lines(lines: str) -> dict[bytes, tuple[Any, ...]]:
    """Every span as the official parser reads it, by span id."""
    found = {}
    for line in lines.splitlines():
        for part in TracesData.from_json(line).resource_spans:
            for scoped in part.scope_spans:
                for span in scoped.spans:
                    found[span.span_id] = (
                        plain(part.resource.attributes), scoped.scope.name, span.trace_id,
                        span.parent_span_id or None,
                        span.name, int(span.kind), span.start_time_unix_nano, span.end_time_unix_nano,
                        span.flags,
                        plain(span.attributes), int(span.status.code or 0) if span.status else 0,
                        [(event.name, event.time_unix_nano, plain(event.attributes)) for event in span.events],
                        [(link.trace_id, link.span_id, plain(link.attributes)) for link in span.links],
                    )  # fmt: skip
    return found


def spans_of_tables(found: dict[str, pa.Table]) -> dict[bytes, tuple[Any, ...]]:
    """Every span of the Arrow tables in the same form."""
    resources = [json.loads(text) for text in found["resources"]["attributes"].to_pylist()]
    scopes = found["scopes"]["name"].to_pylist()
    events, links = defaultdict(list), defaultdict(list)
    for event in found["span_events"].to_pylist():
        told = json.loads(event["attributes"] or "{}")
        events[event["span_row"]].append((event["name"], event["time_ns"], told))
    for link in found["span_links"].to_pylist():
        told = json.loads(link["attributes"] or "{}")
        links[link["span_row"]].append((link["linked_trace_id"], link["linked_span_id"].to_bytes(8), told))
    return {
        span["span_id"].to_bytes(8): (
            resources[span["resource_row"]], scopes[span["scope_row"]], span["trace_id"],
            None if span["parent_span_id"] is None else span["parent_span_id"].to_bytes(8), span["name"],
            span["kind"],
            span["start_ns"], span["end_ns"], span["flags"], json.loads(span["attributes"] or "{}"),
            span["status_code"],
            events[row], links[row],
        )
        for row, span in enumerate(found["spans"].to_pylist())
    }  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_sdk_and_the_arrow_path_carry_the_same_spans(short_run: Short, dialect: str) -> None:
    """Ids, times, names, kinds, flags, attributes with their types, events, links, resources, scopes."""
    emission = emitted(short_run("retry_storm", emit__dialect=dialect, clients__abort_share=0.2))
    by_sdk, by_arrow = spans_of_lines(written_spans(emission)), spans_of_tables(tables(emission))
    assert len(by_sdk) == emission.span_count
    assert by_sdk == by_arrow
    types = [{key: type(value) for key, value in span[9].items()} for span in by_sdk.values()]
    assert types == [{key: type(value) for key, value in by_arrow[span_id][9].items()} for span_id in by_sdk]


@pytest.mark.parametrize("scenario", ["cancel_cascade", "cold_start"])
def test_links_between_traces_and_starts_of_replicas_are_the_same_on_both_paths(
    short_run: Short, scenario: str
) -> None:
    """Siblings link to the first request of their call, which has a trace of its own."""
    emission = emitted(short_run(scenario))
    by_sdk = spans_of_lines(written_spans(emission))
    assert by_sdk == spans_of_tables(tables(emission))
    links = [(span[2], *link) for span in by_sdk.values() for link in span[12]]
    assert all(trace != linked for trace, linked, *_ in links)
    assert bool(links) == (scenario == "cancel_cascade")
    assert {told["link.kind"] for *_, told in links} <= {"sibling"}


def test_the_sdk_and_the_arrow_path_carry_the_same_metrics(short_run: Short) -> None:
    """Every point of every gauge, counter and histogram."""
    emission, stream = emitted(short_run("slow_worker")), StringIO()
    export_metrics(emission, FileMetricExporter(stream=stream))
    by_sdk = sorted(point for line in stream.getvalue().splitlines() for point in points_of_line(line))
    assert by_sdk == sorted(points_of_tables(tables(emission)))
    assert len(by_sdk) > 100


def points_of_line(line: str) -> list[tuple[Any, ...]]:
    """Points as the official parser reads them: name, attributes, time, value or count, sum, buckets."""
    found = []
    for part in MetricsData.from_json(line).resource_metrics:
        for metric in (metric for scoped in part.scope_metrics for metric in scoped.metrics):
            if metric.exponential_histogram:
                continue
            data = metric.gauge or metric.sum or metric.histogram
            for point in data.data_points:
                value = (
                    (point.count, point.sum, tuple(point.bucket_counts), tuple(point.explicit_bounds))
                    if metric.histogram
                    else (point.as_int if point.as_int is not None else point.as_double,)
                )
                found.append((metric.name, metric.unit, str(plain(point.attributes)), point.time_unix_nano, *value))
    return found


def points_of_tables(found: dict[str, pa.Table]) -> list[tuple[Any, ...]]:
    """The same from the Arrow tables."""
    streams = found["metric_streams"].to_pylist()

    def head(row: dict[str, Any]) -> tuple[Any, ...]:
        stream = streams[row["stream_row"]]
        return stream["name"], stream["unit"], str(json.loads(stream["attributes"] or "{}")), row["time_ns"]

    numbers = [
        (*head(row), row["value_int"] if row["value_int"] is not None else row["value_double"])
        for row in found["metric_points"].to_pylist()
    ]
    return numbers + [
        (*head(row), row["count"], row["sum"], tuple(row["bucket_counts"]), tuple(row["explicit_bounds"]))
        for row in found["metric_histograms"].to_pylist()
        if row["scale"] is None
    ]


def test_batches_of_a_run_are_the_run(short_run: Short) -> None:
    """Cut into batches, every span is there once, with ids of its own and the same times."""
    run = short_run("slow_worker")
    whole = tables(emitted(run))["spans"]
    parts = [batch["spans"] for batch in batches(run.values, seed=1, requests_each=50)]
    assert len(parts) == -(-run.requests.size // 50)
    joined = pa.concat_tables(parts)
    assert len(set(joined["span_id"].to_pylist())) == joined.num_rows == whole.num_rows
    assert sorted(joined["start_ns"].to_pylist()) == sorted(whole["start_ns"].to_pylist())
    only = next(batches(run.values, seed=1))
    assert only["spans"].equals(whole)
    assert only["metric_points"].num_rows > 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_seed_gives_the_same_bytes(short_run: Short, dialect: str) -> None:
    """Files can be compared and checked in."""
    one = written_spans(emitted(short_run("slow_worker", emit__dialect=dialect)))
    again = written_spans(emitted(short_run("slow_worker", emit__dialect=dialect)))
    assert one == again


TELLING = [("tracekit", scenario) for scenario in scenarios.names(model="serving")]
TELLING += [(dialect, scenario) for dialect in DIALECTS[1:] for scenario in ("retry_storm", "cold_start")]


@pytest.mark.parametrize(("dialect", "scenario"), TELLING)
def test_nothing_in_the_spans_gives_the_truth_away(short_run: Short, dialect: str, scenario: str) -> None:
    """No fault, no scenario, no injected time is named in what is emitted."""
    text = written_spans(emitted(short_run(scenario, emit__dialect=dialect, run__duration_s=6.0))).lower()
    for word in ("fault", "inject", "culprit", "scenario", "truth", "stall_ns", scenario):
        assert word not in text


def own_time(emission: Emission) -> dict[tuple[int, str], int]:
    """Time of each span not covered by its children, by trace and stage: the plainest reading of the
    convention.
    """
    rows = []
    for group in emission.groups:
        stage = group.attributes.get("tracekit.stage")
        rows += zip(
            group.trace.tolist(), group.span_id.tolist(), group.parent_id.tolist(),
            (group.end_ns - group.start_ns).tolist(), [stage] * len(group), strict=True,
        )  # fmt: skip
    covered: dict[int, int] = defaultdict(int)
    for _, _, parent, length, _ in rows:
        covered[parent] += length
    total: dict[tuple[int, str], int] = defaultdict(int)
    for trace, span, _, length, stage in rows:
        total[trace, str(stage)] += length - covered[span]
    return {key: value for key, value in total.items() if value}


@pytest.mark.parametrize("scenario", ["healthy", "slow_worker", "slow_readers", "slow_kv_link"])
def test_own_time_by_stage_of_our_own_spans_is_the_truth(short_run: Short, scenario: str) -> None:
    """The spans of our convention tile each request: own time is the truth in every stage."""
    run = short_run(scenario, clients__abort_share=0.2)
    parts = stage_ns(run).sum(axis=1)
    truth = {
        (request, stages.NAMES[stage]): int(parts[request, stage])
        for request, stage in zip(*np.nonzero(parts), strict=True)
    }
    assert own_time(emitted(run)) == truth


def test_children_lie_inside_their_parents(short_run: Short) -> None:
    """A clean run has no child that starts before or ends after its parent, and no parent missing."""
    emission = emitted(short_run("retry_storm", **STRESSED))
    spans = {
        span: (start, end)
        for group in emission.groups
        for span, start, end in zip(group.span_id.tolist(), group.start_ns.tolist(), group.end_ns.tolist(), strict=True)
    }
    assert len(spans) == emission.span_count
    for group in emission.groups:
        for parent, start, end in zip(
            group.parent_id.tolist(), group.start_ns.tolist(), group.end_ns.tolist(), strict=True
        ):
            if parent:
                assert spans[parent][0] <= start <= end <= spans[parent][1]


def test_vllm_has_one_request_span_for_each_finished_request_and_none_for_others(short_run: Short) -> None:
    """Aborted and refused requests leave no engine span, as in vLLM."""
    run = short_run("healthy", emit__dialect="vllm", clients__abort_share=0.4, clients__patience_median_s=1.0)
    emission = emitted(run)
    engine = next(group for group in emission.groups if group.name == "llm_request")
    assert sorted(engine.trace.tolist()) == np.flatnonzero(run.requests["outcome"] == 1).tolist()
    assert 0 < len(engine) < run.requests.size
    assert not any(key.startswith("tracekit.stage") for group in emission.groups for key in group.attributes)


def test_vllm_durations_are_the_truth_within_its_clocks(short_run: Short) -> None:
    """Queue, prefill and decode in seconds match the intervals; starts are multiples of 256 ns."""
    run = short_run("healthy", emit__dialect="vllm")
    engine = next(group for group in emitted(run).groups if group.name == "llm_request")
    parts = stage_ns(run)[engine.trace].sum(axis=1) / 1e9
    read = {key: engine.attributes[f"gen_ai.latency.{key}"] for key in ("time_in_queue", "time_in_model_prefill")}
    assert np.allclose(read["time_in_queue"], parts[:, stages.ENG_QUEUE], atol=1e-9)
    assert np.allclose(read["time_in_model_prefill"], parts[:, stages.ENG_PREFILL], atol=1e-9)
    decode = engine.attributes["gen_ai.latency.time_in_model_decode"]
    requests = run.requests[engine.trace]
    assert np.allclose(decode, (requests["engine_last_ns"] - requests["engine_first_ns"]) / 1e9, atol=3e-4)
    assert (engine.start_ns % 256 == 0).all()


def test_counters_end_where_the_run_ended(short_run: Short) -> None:
    """Tokens and finished requests of the last reading are those of the requests."""
    run = short_run("healthy")
    found = tables(emitted(run))
    points = pl.from_arrow(found["metric_points"]).join(
        pl.from_arrow(found["metric_streams"]).with_row_index("stream_row").cast({"stream_row": pl.Int32}),
        on="stream_row",
    )
    last = (
        points.group_by("name", "stream_row")
        .agg(pl.col("value_int").last())
        .group_by("name")
        .agg(pl.col("value_int").sum())
    )
    totals = dict(last.iter_rows())
    assert totals["vllm:generation_tokens"] == run.requests["generated"].sum()
    assert totals["vllm:request_success"] == (run.requests["outcome"] == 1).sum()
    assert totals["vllm:num_requests_running"] == 0


def test_attributes_become_json_that_reads_back_with_its_types() -> None:
    """Text is escaped, doubles stay doubles, absent attributes are absent, no attributes is null."""
    columns = {
        "text": np.array(['a"b', "c\\d", "e\nf"], dtype=object), "whole": np.array([1, 2**62, -3]),
        "number": np.array([1.0, 0.1, 1e300]), "flag": np.array([True, False, True]), "constant": "x",
        "some": Optional(np.array([7, 8, 9]), np.array([False, True, False])),
    }  # fmt: skip
    rows = [json.loads(text) for text in attributes_json(columns, 3)]
    assert rows[0] == {"text": 'a"b', "whole": 1, "number": 1.0, "flag": True, "constant": "x"}
    assert rows[1] == {
        "text": "c\\d",
        "whole": 2**62,
        "number": 0.1,
        "flag": False,
        "constant": "x",
        "some": 8,
    }
    assert isinstance(rows[0]["number"], float)
    assert attributes_json({}, 2).to_list() == [None, None]
    lonely = {"some": Optional(np.array([1, 2]), np.array([False, True]))}
    assert attributes_json(lonely, 2).to_list() == [None, '{"some":2}']
