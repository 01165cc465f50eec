"""Exponential histograms, counters of machines, log records: what beside spans is sent, on both ways out."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.json.file import FileMetricExporter
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.proto_json.metrics.v1.metrics import MetricsData

from generators import scenarios
from generators.bulk import tables
from generators.generate import generate, prepare
from generators.job.emission import emission as job_emission
from generators.logs import export_logs
from generators.metrics import MOST_BUCKETS, exponential_histogram
from generators.sdk_export import export_metrics
from generators.serving import counters, dialects, logs, state
from generators.serving.simulation import Run
from generators.spans import Emission
from tests.unit.generators.test_job import lived
from tracekit.otlp import SCHEMAS

Short = Callable[..., Run]


def emitted(run: Run) -> Emission:
    """All signals of a run."""
    return logs.with_logs(counters.with_counters(dialects.emission(run, seed=1), run), run, seed=1)


@given(
    values=st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), min_size=1, max_size=60),
    readings=st.integers(1, 5),
)
def test_an_exponential_histogram_holds_every_value_in_its_bucket(values: list[float], readings: int) -> None:
    """Each lies above the lower bound and at most at the upper one; counts, sums and extremes are those read."""
    observed = np.arange(len(values))
    read_at = np.linspace(0, len(values), readings).astype(np.int64)
    series = exponential_histogram(
        "x", "s", scope="x", resource=0, start_ns=0, time_ns=read_at, observed_at_ns=observed,
        observations=np.array(values),
    )  # fmt: skip
    assert series.bucket_counts is not None
    assert series.bucket_counts.shape[1] <= MOST_BUCKETS
    width = 2.0**-series.scale
    for row, at in enumerate(series.time_ns.tolist()):
        seen = np.array(values[: at + 1])
        assert series.counts()[row] == seen.size
        assert series.values[row] == pytest.approx(seen.sum())
        assert series.zero_counts is not None
        assert series.zero_counts[row] == (seen == 0).sum()
        positive = np.sort(seen[seen > 0])
        bucket = np.repeat(np.arange(series.bucket_counts.shape[1]), series.bucket_counts[row]) + series.offset
        assert (positive <= np.exp2((bucket + 1) * width) * (1 + 1e-12)).all()
        assert (positive >= np.exp2(bucket * width) * (1 - 1e-12)).all()


def test_the_sdk_and_the_arrow_path_carry_the_same_exponential_histogram(short_run: Short) -> None:
    """Scale, offset, buckets, zeros, count and sum of every reading."""
    emission, stream = emitted(short_run("slow_worker")), StringIO()
    export_metrics(emission, FileMetricExporter(stream=stream))
    metrics = [
        metric
        for line in stream.getvalue().splitlines() for part in MetricsData.from_json(line).resource_metrics
        for scoped in part.scope_metrics for metric in scoped.metrics if metric.exponential_histogram
    ]  # fmt: skip
    by_sdk = [
        (metric.name, point.time_unix_nano, point.count, point.sum, point.scale or 0, point.zero_count or 0,
         point.positive.offset or 0, list(point.positive.bucket_counts), point.min, point.max)
        for metric in metrics for point in metric.exponential_histogram.data_points
    ]  # fmt: skip
    found = tables(emission)
    streams = found["metric_streams"].to_pylist()
    by_arrow = [
        (streams[row["stream_row"]]["name"], row["time_ns"], row["count"], row["sum"], row["scale"],
         row["zero_count"], row["positive_offset"], row["positive_counts"], row["min"], row["max"])
        for row in found["metric_histograms"].to_pylist() if row["scale"] is not None
    ]  # fmt: skip
    assert by_sdk == by_arrow
    assert {row[0] for row in by_sdk} == {"gen_ai.server.time_per_output_token"}


def test_accelerators_are_busy_as_long_as_their_steps_take(short_run: Short) -> None:
    """Utilisation never exceeds one; over the run it is the time of steps."""
    run = short_run("slow_worker", clients__rate_per_s=40.0)
    emission = emitted(run)
    for replica in range(2):
        [busy] = [one for one in emission.series if one.name == "hw.gpu.utilization" and one.resource == replica + 1]
        assert busy.values.max() <= 1.0
        spent = (busy.values * np.diff(run.reading_times_ns, prepend=0)).sum()
        reading = run.readings[-1, replica]
        running = run.reading_times_ns[-1] - reading["step_start_ns"] if reading["busy"] else 0
        assert spent == pytest.approx(reading["busy_ns"] + running)


def host_of(resource: dict[str, Any]) -> str:
    """The host that a resource names."""
    names = {one["key"]: one["value"].get("stringValue", "") for one in resource["attributes"]}
    return str(names["host.name"])


def written_logs(emission: Emission) -> list[dict[str, Any]]:
    """Records of the real file exporter, with the attributes of their resource."""
    stream = StringIO()
    export_logs(emission, FileLogExporter(stream=stream))
    return [
        {**record, "scope": scoped["scope"]["name"], "host": host_of(part["resource"])}
        for line in stream.getvalue().splitlines() for part in json.loads(line)["resourceLogs"]
        for scoped in part["scopeLogs"] for record in scoped["logRecords"]
    ]  # fmt: skip


def test_requests_that_end_badly_are_logged_inside_their_span(short_run: Short) -> None:
    """With status and tenant; 4xx are warnings, 5xx errors, preemptions warnings of the engine."""
    run = short_run("cancel_cascade", clients__rate_per_s=40.0, engine__kv_tokens=16000)
    emission = emitted(run)
    found = written_logs(emission)
    status = run.requests["status"]
    assert sum(one["severityText"] == "ERROR" for one in found) == (status >= 500).sum() > 0
    refused = [one for one in found if one["scope"] == "gateway"]
    assert len(refused) == (status >= 400).sum()
    roots = {f"{number:016x}" for number in next(
        group.span_id for group in emission.groups if group.name == "POST /v1/chat/completions").tolist()}  # fmt: skip
    assert {one["spanId"] for one in refused} <= roots
    preempted = [one for one in found if "preempted" in one["body"]["stringValue"]]
    assert len(preempted) == run.requests["preemptions"].sum() > 0
    assert {one["host"] for one in preempted} <= {"worker-0", "worker-1"}


def test_the_sdk_and_the_arrow_path_carry_the_same_logs(short_run: Short) -> None:
    """Times, severities, bodies, ids and attributes."""
    emission = emitted(short_run("cancel_cascade", clients__rate_per_s=40.0, engine__kv_tokens=16000))
    by_sdk = [
        (int(one["timeUnixNano"]), one["severityNumber"], one["body"]["stringValue"], one.get("traceId") or None,
         one.get("spanId") or None, len(one.get("attributes", [])), one["scope"])
        for one in written_logs(emission)
    ]  # fmt: skip
    found = tables(emission)
    scopes = found["scopes"]["name"].to_pylist()
    by_arrow = [
        (row["time_ns"], row["severity_number"], json.loads(row["body"]), row["trace_id"] and row["trace_id"].hex(),
         row["span_id"] and f"{row['span_id']:016x}", len(json.loads(row["attributes"] or "{}")),
         scopes[row["scope_row"]])
        for row in found["logs"].to_pylist()
    ]  # fmt: skip
    assert by_sdk == by_arrow
    assert len(by_sdk) > 10


def test_a_failing_host_says_so_where_it_can_and_the_scheduler_notes_what_it_was_told() -> None:
    """The kernel's record at the onset, on the culprit; the scheduler's at the declaration."""
    life = lived("job_hang", fault__hangs=False)
    failure = life.attempts[0].failure
    assert failure is not None
    kernel, noted = written_logs(job_emission(life, seed=1))
    origin_ns = int(life.values["run.start_unix_s"]) * 10**9
    assert (kernel["host"], int(kernel["timeUnixNano"])) == ("node-7", origin_ns + failure.onset_ns)
    assert "Xid 79" in kernel["body"]["stringValue"]
    assert (noted["host"], int(noted["timeUnixNano"])) == ("scheduler-0", origin_ns + failure.declared_ns)


def test_clocks_that_are_wrong_are_wrong_in_logs_too(tmp_path: Path, short_run: Short) -> None:
    """A host has one clock for spans and records."""
    overrides = {"run.duration_s": 8.0, "fault.start_s": 2.0, "fault.duration_s": 5.0, "corrupt.skew_ms": 500.0}
    told = generate("engine_errors", overrides=overrides, out=tmp_path / "skewed")
    lines = (tmp_path / "skewed" / "logs.jsonl").read_text(encoding="utf-8").splitlines()
    [record, *_] = json.loads(lines[0])["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    failed = [unit for unit in told.content["units"] if unit["status"] == 500]
    offset = told.content["defects"]["corrupt.skew_ms"]["gateway-0"]
    assert int(record["timeUnixNano"]) - offset in {unit["end_ns"] for unit in failed}
    assert state.OUTCOMES[state.FAILED] == "failed"


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("checkpoint_stall", {"run.steps": 12, "fault.first_step": 4, "fault.steps": 4}),
        ("overflow_steps", {"run.steps": 12, "fault.first_step": 4, "fault.steps": 4}),
        ("engine_errors", {}),
        ("job_hang", {}),
    ],
)
def test_the_bulk_path_makes_whole_tables_of_the_decoder(scenario: str, overrides: dict[str, Any]) -> None:
    """Every table that has rows has every column, so that a store takes it as what came over the wire."""
    model, values = prepare(scenarios.load(scenario), overrides=overrides)
    emission, _ = model.run(values, seed=1)
    made = {name: table for name, table in tables(emission).items() if table.num_rows}
    assert made["logs"].num_rows > 0
    for name, table in made.items():
        assert set(SCHEMAS[name].names) <= set(table.column_names), name
