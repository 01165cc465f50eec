"""Profiles of PyTorch's profiler: what becomes of their events, and what bad ones do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.errors import UnknownFormatError
from tracekit.importers.kineto import EVENT_SCHEMA, is_profile, read_profile, step_operations
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

BASE_US = 1_700_000_000_000_000
HTA = Path(__file__).resolve().parents[4] / "shared/data/hta"


def event(category: str, name: str, start: float, length: float, **arguments: Any) -> dict[str, Any]:
    """A complete event; times in microseconds from the base."""
    told = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": BASE_US + start, "dur": length}
    return told | {"args": arguments}


def step(number: int, start: float, length: float) -> dict[str, Any]:
    return event("user_annotation", f"ProfilerStep#{number}", start, length)


def kernel(start: float, length: float, *, launched: float | None = None, name: str = "gemm") -> list[dict[str, Any]]:
    """A kernel with the call that launched it."""
    number = round(start * 10) + 1
    call = event("cuda_runtime", "cudaLaunchKernel", start if launched is None else launched, 2, correlation=number)
    return [call, event("kernel", name, start, length, correlation=number, stream=7)]


def profile(*events: Any, **more: Any) -> bytes:
    listed = [one for each in events for one in (each if isinstance(each, list) else [each])]
    info = {"backend": "nccl", "rank": 3, "world_size": 8}
    return json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": listed} | more).encode()


def ingested(folder: Path, content: bytes, *, name: str = "trace.json") -> tuple[Database, list[tuple[str, int]]]:
    """A store with the profile, and the exclusive time of its stages, in microseconds."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    database = Database.open(None)
    ingest(database, [folder / name])
    update_units(database)
    times = database.sql("SELECT stage, sum(self_ns) // 1000 AS us FROM unit_stages GROUP BY stage ORDER BY stage")
    return database, times.rows()


def test_steps_tile_the_time_and_work_is_exclusive(tmp_path: Path) -> None:
    """Compute before copies before communication; a gap whose next launch came late is the host's."""
    content = profile(
        step(1, 0, 900), step(2, 1000, 500),
        kernel(0, 100, launched=-10), event("gpu_memcpy", "Memcpy HtoD", 50, 100, stream=9, correlation=99),
        kernel(120, 200, launched=60, name="ncclDevKernel_AllReduce_Sum_f32"),
        kernel(600, 100, launched=550), kernel(720, 80, launched=600), kernel(1000, 500, launched=900),
    )  # fmt: skip
    database, times = ingested(tmp_path / "job-a", content)
    units = database.sql("SELECT job_id, step, rank, end_ns - start_ns AS ns FROM units ORDER BY step").rows()
    assert units == [("job-a", 1, 3, 1_000_000), ("job-a", 2, 3, 500_000)]
    assert dict(times) == {
        "step.compute": 100 + 100 + 80 + 500,
        "step.copy": 50,
        "unsplit(step.straggler_wait|step.exposed_comm)": 170,
        # 320 to 600, and 800 to 1000: the launches came at 550 and 900.
        "step.host_bound": 280 + 200,
        "step.launch_overhead": 20,
        "unattributed": 0,
    } | {name: 0 for name, ns in times if ns == 0}
    assert database.sql("SELECT max(world_size) FROM resources").item() == 8


def test_work_over_the_border_of_steps_is_cut_there() -> None:
    operations, steps, notes = step_operations(
        read_profile(profile(step(1, 0, 90), step(2, 100, 90), kernel(80, 60)), name="x")
    )
    cut = operations.filter(operation="gemm")
    assert cut.select("step", (cut["end_ns"] - cut["start_ns"]).alias("ns")).rows() == [(1, 20_000), (2, 40_000)]
    assert (steps["end_ns"][0] == steps["start_ns"][1], notes) == (True, {})


def test_a_loader_has_only_what_no_device_does(tmp_path: Path) -> None:
    loader = event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 300)
    _, times = ingested(
        tmp_path / "job", profile(step(1, 0, 500), loader, kernel(100, 100, launched=0), kernel(300, 200))
    )
    assert dict(times)["step.data_load"] == 100 + 100
    assert dict(times)["step.compute"] == 300


def test_collectives_are_matched_by_group_and_number() -> None:
    told = {"Collective name": "_allgather_base", "Process Group Name": "5", "Process Group Description": "dp",
            "In msg nelems": 10, "Out msg nelems": 80, "dtype": "BFloat16", "Seq": 42}  # fmt: skip
    other = {"Collective name": "allreduce", "Process Group Name": "0", "In msg nelems": 4, "dtype": "Float"}
    sent = {"Collective name": "send", "Process Group Name": "7", "Dst Rank": 1}
    content = profile(
        step(1, 0, 90), event("kernel", "ncclDevKernel_AllGather", 0, 5, **told),
        *(event("kernel", "ncclDevKernel_AllReduce", 10 * at, 5, **other) for at in (1, 2)),
        event("kernel", "ncclDevKernel_SendRecv", 50, 5, **sent),
    )  # fmt: skip
    found, _, _ = step_operations(read_profile(content, name="x"))
    rows = found.filter(stage="step.exposed_comm").select("collective", "group", "collective_sequence", "bytes").rows()
    assert rows == [
        ("all_gather", "dp 5", 42, 160), ("all_reduce", "0", 0, 16), ("all_reduce", "0", 1, 16),
        (None, None, None, None),
    ]  # fmt: skip


def test_without_a_device_the_host_is_what_works() -> None:
    calls = [event("cpu_op", "aten::linear", 0, 50), event("cpu_op", "aten::addmm", 5, 40)]
    reduced = event("user_annotation", "gloo:all_reduce", 60, 20)
    found, _, _ = step_operations(read_profile(profile(step(1, 0, 100), calls, reduced), name="x"))
    assert found.select("operation", "stage").rows() == [
        ("aten::linear", "step.compute"), ("gloo:all_reduce", "step.exposed_comm"),
    ]  # fmt: skip


def test_what_it_does_not_say_is_assumed_and_told() -> None:
    content = json.dumps({"traceEvents": kernel(0, 10), "deviceProperties": []}).encode()
    found = read_profile(content, name="node1_rank12.pt.trace.json")
    _, steps, notes = step_operations(found)
    assert (found.rank, found.world_size, steps["step"].to_list()) == (12, None, [0])
    assert ["rank" in note for note in found.notes] == [True]
    assert "no ProfilerStep is named: the whole profile is one step" in notes


def test_the_base_of_newer_profiles_is_added() -> None:
    content = profile({**kernel(0, 10)[1], "ts": 1000.5}, baseTimeNanoseconds=1_712_000_000_000_000_000)
    assert read_profile(content, name="x").events["start_ns"].to_list() == [1_712_000_000_001_000_500]


def test_a_folder_of_compressed_profiles_is_one_job(tmp_path: Path) -> None:
    folder = tmp_path / "run-7"
    folder.mkdir()
    for rank in range(2):
        text = profile(step(1, 0, 90), kernel(0, 50), distributedInfo={"rank": rank, "world_size": 2})
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(text))
    with Database.open(None) as database:
        ingest(database, [folder])
        update_units(database)
        assert database.sql("SELECT job_id, rank FROM units ORDER BY rank").rows() == [("run-7", 0), ("run-7", 1)]


@pytest.mark.parametrize(
    "bad",
    [
        {"ph": "X", "cat": "kernel", "name": "k"},
        {"ph": "X", "cat": "kernel", "name": "k", "ts": "soon", "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "k", "ts": float("nan"), "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "k", "ts": BASE_US, "dur": -5},
        {"ph": "X", "cat": "kernel", "name": "k", "ts": 1e300, "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "k", "ts": True, "dur": 1},
    ],
    ids=["no time", "text", "nan", "negative", "far", "truth"],
)
def test_an_event_whose_time_cannot_be_is_counted(bad: dict[str, Any]) -> None:
    found = read_profile(profile(kernel(0, 10), bad), name="x")
    assert len(found.events) == 2
    assert found.notes == {"events without a time or with one that cannot be are left out": 1}


@pytest.mark.parametrize("content", [b'{"traceEvents": [', b'{"traceEvents": 3}', b"[" * 100_000, b"{}"])
def test_what_is_no_profile_is_refused(content: bytes) -> None:
    with pytest.raises(UnknownFormatError):
        read_profile(content, name="x")


def test_other_chrome_traces_are_not_taken_for_one() -> None:
    assert not is_profile(b'{"traceEvents": [{"ph": "X", "cat": "browser", "name": "paint"}]}')
    assert not is_profile(b'{"schemaVersion": 2, "package": "x"}')
    assert is_profile(profile(step(1, 0, 10)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    events=st.lists(
        st.fixed_dictionaries(
            {"ph": st.just("X"), "cat": st.sampled_from(["kernel", "user_annotation", "cuda_runtime", "cpu_op"])},
            optional={
                "name": st.sampled_from(["ProfilerStep#1", "ProfilerStep#2", "ncclKernel_x", "k", ""]) | JSON,
                "ts": st.integers(BASE_US, BASE_US + 50) | JSON,
                "dur": st.integers(0, 60) | JSON,
                "args": st.dictionaries(st.sampled_from(["correlation", "Seq", "dtype", "Process Group Name"]), JSON)
                | JSON,
            },
        ),
        max_size=12,
    )
)
def test_whatever_the_events_are_the_steps_hold_their_operations(events: list[Any]) -> None:
    """Nothing raises, every operation lies in its step, and steps do not overlap."""
    found = read_profile(json.dumps({"traceEvents": events}).encode(), name="x")
    assert found.events.schema == EVENT_SCHEMA
    operations, steps, _ = step_operations(found)
    windows = {row["step"]: (row["start_ns"], row["end_ns"]) for row in steps.iter_rows(named=True)}
    assert len(windows) == len(steps)
    for row in operations.iter_rows(named=True):
        start_ns, end_ns = windows[row["step"]]
        assert start_ns <= row["start_ns"] <= row["end_ns"] <= end_ns


@pytest.mark.skipif(not HTA.is_dir(), reason="the traces of Holistic Trace Analysis are not here")
@pytest.mark.parametrize("rank", [0, 1])
def test_real_profiles_have_the_times_that_holistic_trace_analysis_finds(tmp_path: Path, rank: int) -> None:
    """Compute, and what is neither compute nor idle, of the first step: equal to the microsecond."""
    expected = json.loads((HTA / "expected.json").read_text())["trace_filter"]["temporal"][rank]
    content = gzip.decompress((HTA / f"sampled_rank-{rank}.json.gz").read_bytes())
    database, _ = ingested(tmp_path / "pair", content)
    times = dict(
        database.sql(
            "SELECT stage, sum(self_ns) / 1000 AS us FROM unit_stages INNER JOIN units USING (unit_id) "
            "WHERE step = 551 GROUP BY stage"
        ).rows()
    )
    assert times["step.compute"] == expected["compute_time(us)"]
    communicated = times["unsplit(step.straggler_wait|step.exposed_comm)"]
    assert communicated + times["step.copy"] == expected["non_compute_time(us)"]


def inside_us(events: pl.DataFrame) -> int:
    """Microseconds in which any of the events runs, each rounded to whole microseconds that lie inside it."""
    rounded = events.select(start=-(-pl.col("start_ns") // 1000), end=pl.col("end_ns") // 1000).sort("start", "end")
    before = pl.col("end").cum_max().shift(1).fill_null(0)
    return int(rounded.select((pl.col("end") - pl.max_horizontal("start", before)).clip(0).sum()).item())


@pytest.mark.skipif(not HTA.is_dir(), reason="the traces of Holistic Trace Analysis are not here")
def test_holistic_trace_analysis_rounds_kernels_to_whole_microseconds_inside_them() -> None:
    """Which is all that a profile with nanoseconds differs by: 2,516 kernels, about a microsecond each.

    It leaves the last step out; its window is from the first kernel to the last one, ours the steps.
    """
    expected = json.loads((HTA / "expected.json").read_text())["nccl_parser_config"]["temporal"][0]
    profile = read_profile(gzip.decompress((HTA / "nccl_data.json.gz").read_bytes()), name="nccl_data.json")
    _, steps, _ = step_operations(profile)
    device = profile.events.filter(pl.col("kind").is_in(["compute", "copy", "comm"]))
    looked_at = device.filter(pl.col("start_ns") < steps["start_ns"][-1])
    compute_us = inside_us(looked_at.filter(pl.col("kind") == "compute"))
    assert compute_us == expected["compute_time(us)"]
    assert inside_us(looked_at) - compute_us == expected["non_compute_time(us)"]
    window_ns = looked_at["end_ns"].max() - looked_at["start_ns"].min()  # type: ignore[operator]
    assert abs(window_ns / 1000 - expected["kernel_time(us)"]) < 2
