"""Scenarios of training: they run, they strike what they say, and their spans tell the truth without giving it away."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from opentelemetry.exporter.otlp.json.file import FileMetricExporter

from generators import corruption, scenarios
from generators.bulk import tables
from generators.generate import generate, prepare
from generators.sdk_export import export_metrics
from generators.spans import Emission
from generators.training import counters, emission, logs, stages, state
from generators.training.bulk import batches
from generators.training.causes import Culprit, culprits
from generators.training.simulation import Run, simulate, slices
from generators.training.truth import counterfactual, truth
from tests.unit.generators.conftest import SMALL, small_values
from tests.unit.generators.test_emission import (
    points_of_line,
    points_of_tables,
    spans_of_lines,
    spans_of_tables,
    written_spans,
)

NAMES = scenarios.names(model="training")
FAULTLESS = {"training_healthy", "finetune_healthy", "longer_sequences", "sequence_imbalance"}
SHORT = {"run.steps": 24, "schedule.micro_batches": 4, "emit.metrics_interval_s": 5.0}


def emitted(run: Run, *, seed: int = 1) -> Emission:
    """Spans, counters and log records of a run."""
    return logs.with_logs(counters.with_counters(emission.emission(run, seed=seed), run), run)


@dataclass(frozen=True)
class Told:
    """A scenario, its run, the same run without the fault, who is to blame."""

    name: str
    run: Run
    other: Run
    culprits: list[Culprit]


@pytest.fixture(scope="module", params=NAMES)
def told(request: pytest.FixtureRequest) -> Told:
    """A scenario, shortened."""
    _, values = prepare(scenarios.load(request.param), overrides=SHORT)
    run = simulate(values, seed=5)
    return Told(request.param, run, counterfactual(run, seed=5), culprits(values, seed=5))


def test_the_stages_of_every_rank_and_step_sum_to_its_time(told: Told) -> None:
    """Conservation: not one nanosecond is lost or counted twice, whatever goes wrong."""
    at = told.run.log.instants
    assert (told.run.log.stage_ns.sum(axis=2) == at[:, state.FINISHED] - at[:, state.STARTED]).all()


def test_scenarios_with_a_fault_name_a_culprit_and_the_others_none(told: Told) -> None:
    """A change of the workload is no fault: nothing differs from the counterfactual."""
    assert bool(told.culprits) == (told.name not in FAULTLESS)
    assert np.array_equal(told.run.log.operations["ended"], told.other.log.operations["ended"]) == (
        told.name in FAULTLESS
    )


def test_nothing_differs_from_the_counterfactual_before_the_fault(told: Told) -> None:
    """Same seed, same draws."""
    first = told.culprits[0].first_step if told.culprits else told.run.steps.size
    for one, same in zip(told.run.log, told.other.log, strict=True):
        assert np.array_equal(one[:first], same[:first])


def test_injected_time_lies_where_the_culprit_says(told: Told) -> None:
    """In its stages and steps; where the fault is one rank's own work, on that rank alone."""
    injected = told.run.log.injected_ns != 0
    struck = {stages.NAMES.index(stage) for one in told.culprits for stage in one.stages}
    assert set(np.flatnonzero(injected.any(axis=(0, 1))).tolist()) <= struck
    for one in told.culprits:
        assert one.first_step is not None
        assert one.last_step is not None
        assert not injected[: one.first_step].any()
        slowed = np.flatnonzero((told.run.log.injected_ns > 0).any(axis=(0, 2))).tolist()
        if one.stragglers:
            assert slowed == one.stragglers


def test_nothing_in_the_spans_gives_the_truth_away(told: Told) -> None:
    """No fault, no scenario, no injected time is named in what is emitted."""
    some = list(slices(told.run, steps_each=4))[4]
    text = written_spans(emission.emission(some, seed=1)).lower()
    for word in ("fault", "inject", "culprit", "scenario", "truth", "struck", "straggler", told.name):
        assert word not in text


def test_work_in_the_spans_is_the_truth(told: Told) -> None:
    """A rank does one thing at a time: its spans of loading, copying, computing, saving sum to the true time."""
    log, shape = told.run.log, told.run.log.planned_ns.shape
    seen = {stage: np.zeros(shape, np.int64) for stage in (*WORDS.values(), stages.HOST_BOUND)}
    for group in emission.emission(told.run, seed=1).groups:
        word = str(group.attributes["tracekit.stage"])
        if group.attributes.get("tracekit.async") or word in ("step", "collective"):
            continue
        stage = WORDS.get(word, stages.HOST_BOUND)
        np.add.at(seen[stage], (group.trace, group.resource), group.end_ns - group.start_ns)
    for stage, length_ns in seen.items():
        assert (length_ns == log.stage_ns[:, :, stage]).all()


WORDS = {
    "data_load": stages.DATA_LOAD, "copy": stages.COPY, "forward": stages.COMPUTE, "backward": stages.COMPUTE,
    "optimizer": stages.COMPUTE, "custom": stages.CUSTOM, "checkpoint_save": stages.CHECKPOINT_SAVE,
}  # fmt: skip


def collectives(spans: Emission) -> dict[tuple[object, ...], list[tuple[int, int, int]]]:
    """Rank, start and end of all parts of each collective, by group, name and number."""
    found = defaultdict(list)
    for group in spans.groups:
        if group.attributes["tracekit.stage"] == "collective":
            keys = [group.attributes[f"tracekit.collective.{key}"] for key in ("group", "name", "seq")]
            columns = [np.broadcast_to(np.asarray(key, object), len(group)).tolist() for key in keys]
            parts = zip(group.resource.tolist(), group.start_ns.tolist(), group.end_ns.tolist(), strict=True)
            for key, part in zip(zip(*columns, strict=True), parts, strict=True):
                found[key].append(part)
    return found


@pytest.mark.parametrize("schedule", ["1f1b", "interleaved"])
def test_parts_of_a_collective_belong_together(schedule: str) -> None:
    """Group, name and number identify it: each member once, and all of them leave together, after the last came."""
    values = small_values(mesh__data=4, mesh__expert=2, schedule__name=schedule, checkpoint__every_steps=5)
    found = collectives(emission.emission(simulate(values, seed=1), seed=1))
    members = defaultdict(set)
    for (group, *_), parts in found.items():
        ranks, starts, ends = zip(*parts, strict=True)
        members[group].add(frozenset(ranks))
        assert len(set(ranks)) == len(ranks) > 1
        assert len(set(ends)) == 1
        assert max(starts) < ends[0]
    assert all(len(sets) == 1 for sets in members.values())
    kinds = {str(group).split(".")[0] for group in members}
    assert kinds == {"tensor", "expert", "data", "world", "forward", "backward"}


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    """Files, metrics and truth are equal to the byte; another seed is another run."""
    for name, seed in (("one", 7), ("again", 7), ("other", 8)):
        generate("slow_gpu", seed=seed, overrides=SMALL | {"run.steps": 5}, out=tmp_path / name)
    for name in ("traces.jsonl", "metrics.jsonl", "truth.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
        assert (tmp_path / "one" / name).read_bytes() != (tmp_path / "other" / name).read_bytes()


def small_emission(**overrides: object) -> Emission:
    """A small run with everything that has spans of its own."""
    every = {
        "evaluation__every_steps": 2,
        "checkpoint__every_steps": 3,
        "host__pause_every_steps": 3,
        "mesh__expert": 2,
    }
    return emitted(simulate(small_values(**every, precision__overflow_share=0.3, **overrides), seed=1))


def test_the_sdk_and_the_arrow_path_carry_the_same() -> None:
    """Every span with all its fields and types, every point of every series."""
    spans, stream = small_emission(run__steps=4, emit__metrics_interval_s=1.0), StringIO()
    by_sdk, found = spans_of_lines(written_spans(spans)), tables(spans)
    by_arrow = spans_of_tables(found)
    assert len(by_sdk) == spans.span_count
    assert by_sdk == by_arrow
    export_metrics(spans, FileMetricExporter(stream=stream))
    points = sorted(point for line in stream.getvalue().splitlines() for point in points_of_line(line))
    assert points == sorted(points_of_tables(found))
    assert len(points) > 50


def test_batches_carry_the_whole_run() -> None:
    """Cut into batches of steps, a run has the same spans but for their ids; one batch has the same ids too."""
    values = small_values()
    whole = tables(emitted(simulate(values, seed=3), seed=3))
    [single] = batches(values, seed=3, steps_each=100)
    assert single["spans"].equals(whole["spans"])
    assert single["metric_points"].equals(whole["metric_points"])
    assert single["logs"].equals(whole["logs"])
    parts = [batch["spans"] for batch in batches(values, seed=3, steps_each=4)]
    columns = ["name", "start_ns", "end_ns", "attributes", "resource_row"]
    keys = [[row for part in of for row in zip(*(part[name].to_pylist() for name in columns), strict=True)]
            for of in (parts, [whole["spans"]])]  # fmt: skip
    assert sorted(keys[0]) == sorted(keys[1])
    assert len({trace for part in parts for trace in part["trace_id"].to_pylist()}) == 10


def test_children_lie_inside_the_step_of_their_rank_unless_they_are_written_beside_it() -> None:
    """Only what says so outlives its parent."""
    spans = small_emission()
    roots = next(group for group in spans.groups if group.name == "step")
    window = {one: (start, end, rank) for one, start, end, rank in zip(
        roots.span_id.tolist(), roots.start_ns.tolist(), roots.end_ns.tolist(), roots.resource.tolist(), strict=True
    )}  # fmt: skip
    for group in spans.groups:
        columns = (group.parent_id, group.start_ns, group.end_ns, group.resource)
        for parent, start, end, rank in zip(*(column.tolist() for column in columns), strict=True):
            if parent:
                first, last, owner = window[parent]
                assert first <= start
                assert rank == owner
                assert end <= last or group.attributes.get("tracekit.async")


DEFECTS: list[tuple[str, object]] = [
    ("corrupt.skew_ms", 5.0), ("corrupt.drift_ppm", 50.0), ("corrupt.missing_share", 0.1), ("corrupt.late_share", 0.1),
    ("corrupt.missing_parent_share", 0.5), ("corrupt.duplicate_share", 0.1), ("corrupt.short_ids", True),
    ("corrupt.ms_clock", True), ("corrupt.head_sampling", 0.5), ("corrupt.async_share", 0.5),
]  # fmt: skip
"""Every defect that training spans can have, at a value that does something."""


@pytest.mark.parametrize(("name", "value"), DEFECTS)
def test_defects_apply_to_training_as_to_serving(name: str, value: object) -> None:
    """What was done is counted, and something changed."""
    _, values = prepare(scenarios.load("training_healthy"), overrides=SMALL | {name: value})
    clean = emission.emission(simulate(values, seed=1), seed=1)
    struck, done = corruption.apply(clean, values, seed=1)
    assert list(done) == [name]
    assert done[name]
    assert written_spans(struck) != written_spans(clean)


def test_throttling_shows_in_the_counters_of_its_accelerator_only() -> None:
    """The clock of rank 1 is halved while the fault lasts; its temperature is above the others'."""
    run = simulate(small_values(fault__compute_factor=2.0, emit__metrics_interval_s=1.0), seed=1)
    series = [one for one in emitted(run).series if one.name == "DCGM_FI_DEV_SM_CLOCK"]
    lowest = {one.resource: int(one.values.min()) for one in series}
    assert lowest == {rank: 990 if rank == 1 else 1980 for rank in range(8)}


def test_counters_add_up() -> None:
    """Shares are shares, sums only grow, and the bytes of a host's network are those of its transfers."""
    run = simulate(small_values(emit__metrics_interval_s=1.0), seed=1)
    for one in emitted(run).series:
        if one.unit == "1":
            assert ((one.values >= 0) & (one.values <= 1 + 1e-9)).all()
        if one.kind == "sum":
            assert (np.diff(one.values) >= 0).all()
    sent = [int(one.values[-1]) for one in emitted(run).series if one.name == "system.network.io"]
    # Stages are on different hosts: activations forth and gradients back, of four micro-batches and four pairs.
    messages = [run.log.operations["arrived"][:, :, ranks] for ranks in (slice(4), slice(4, 8))]
    reading_ns = emitted(run).series[0].time_ns[-1] - 1767225600 * 10**9
    expected = [67_000_000 * int(((at >= 0) & (at <= reading_ns)).sum()) for at in messages]
    assert sent == expected


def test_rank_0_logs_skipped_steps_and_checkpoints_inside_its_step() -> None:
    """One record each, while the step lasts, in its trace and under its span."""
    spans = small_emission()
    run = simulate(small_values(checkpoint__every_steps=3, precision__overflow_share=0.3), seed=1)
    roots = next(group for group in spans.groups if group.name == "step")
    skipped, saved = spans.logs
    assert len(skipped) == run.draws.calendar["is_overflow"].sum() > 0
    assert saved.trace.tolist() == [2, 5, 8]
    for records in spans.logs:
        parents = np.flatnonzero(np.isin(roots.span_id, records.span_id))
        assert roots.trace[parents].tolist() == records.trace.tolist()
        assert (roots.resource[parents] == 0).all()
        assert ((roots.start_ns[parents] <= records.time_ns) & (records.time_ns <= roots.end_ns[parents])).all()


def test_the_truth_has_a_unit_for_each_rank_and_step_and_closes() -> None:
    """Ledger, steps and units are the same time; the effect is what the counterfactual lacks."""
    run = simulate(small_values(fault__compute_factor=2.0), seed=1)
    other = counterfactual(run, seed=1)
    told = truth(run, other, emission.emission(run, seed=1), seed=1)
    assert len(told["units"]) == 80
    for unit in told["units"]:
        window = unit["end_ns"] - unit["start_ns"]
        assert sum(unit["stages_ns"]["step"].values()) == window
        assert window - sum(unit["effect_ns"].values()) == unit["without_fault_ns"]["step"]
    whole = sum(unit["end_ns"] - unit["start_ns"] for unit in told["units"])
    assert sum(told["ledger_ns"].values()) == whole
    assert told["culprits"][0]["ranks"] == [1]
    assert told["fault_window_ns"] == [told["steps"][4]["start_ns"], told["steps"][7]["end_ns"]]
