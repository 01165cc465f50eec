"""Tables of operations: which are recognised, what becomes of their rows, and of their times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.errors import UnknownFormatError
from tracekit.importers.operation_tables import EPOCH_NS, OPERATION_SCHEMA, layout_of, read_operations, recognises

OWN = {"step": [1, 1], "rank": [0, 0], "operation": ["forward", "forward"]}


def written(tmp_path: Path, columns: dict[str, Any], name: str = "run7.parquet") -> Path:
    path = tmp_path / name
    frame = pl.DataFrame(columns)
    frame.write_csv(path) if name.endswith(".csv") else frame.write_parquet(path)
    return path


@pytest.mark.parametrize("name", ["run7.parquet", "run7.csv"])
@pytest.mark.parametrize(
    "times",
    [
        {"start_ns": [EPOCH_NS, EPOCH_NS + 5_000], "end_ns": [EPOCH_NS + 4_000, EPOCH_NS + 9_000]},
        {"start_us": [EPOCH_NS // 1000, EPOCH_NS // 1000 + 5], "duration_us": [4, 4]},
        {"start_us": [EPOCH_NS // 1000, EPOCH_NS // 1000 + 5], "end_us": [EPOCH_NS // 1000 + 4, EPOCH_NS // 1000 + 9]},
    ],
)
def test_every_unit_and_file_says_the_same(tmp_path: Path, name: str, times: dict[str, Any]) -> None:
    path = written(tmp_path, OWN | times, name)
    assert recognises(path)
    table = read_operations(path)
    assert table.operations.columns == list(OPERATION_SCHEMA)
    found = table.operations.select("job", "attempt", "sequence", "start_ns", "end_ns").rows()
    assert found == [("run7", 0, 0, EPOCH_NS, EPOCH_NS + 4_000), ("run7", 0, 1, EPOCH_NS + 5_000, EPOCH_NS + 9_000)]
    assert (table.layout, table.rejected, table.notes) == ("operations", {}, ())


def test_rows_that_cannot_be_placed_are_counted_by_reason(tmp_path: Path) -> None:
    """The good ones beside them are kept."""
    columns = {
        "step": [1, None, 1, 1],
        "rank": [0, 0, 0, 0],
        "operation": ["a", "b", "c", None],
        "start_ns": [EPOCH_NS, EPOCH_NS, EPOCH_NS + 9, EPOCH_NS],
        "end_ns": [EPOCH_NS + 1, EPOCH_NS + 1, EPOCH_NS, EPOCH_NS],
    }
    table = read_operations(written(tmp_path, columns))
    assert table.operations["operation"].to_list() == ["a"]
    assert table.rejected == {"a step, rank, operation or time is missing": 2, "it ends before it starts": 1}


def test_times_from_the_start_of_each_step_lay_the_steps_one_behind_the_other(tmp_path: Path) -> None:
    columns = {"step": [7, 9], "rank": [0, 0], "operation": ["a", "a"], "start_ms": [0, 2], "duration_ms": [30, 8]}
    table = read_operations(written(tmp_path, columns))
    assert table.operations.select("start_ns", "end_ns").rows() == [(0, 30_000_000), (32_000_000, 40_000_000)]
    assert table.notes == (
        "times count from the start of each step: the steps are laid one behind the other, without gaps",
    )


def test_times_of_another_origin_are_kept_and_told(tmp_path: Path) -> None:
    columns = {
        "step": [1, 2],
        "rank": [0, 0],
        "operation": ["a", "a"],
        "start_s": [100.5, 101.5],
        "duration_s": [1.0, 1.0],
    }
    table = read_operations(written(tmp_path, columns))
    assert table.operations["start_ns"].to_list() == [100_500_000_000, 101_500_000_000]
    assert table.notes == ("times do not count from the Unix epoch: they are kept as they are",)


def test_single_precision_since_the_epoch_is_refused(tmp_path: Path) -> None:
    """It tells times to two minutes only."""
    start = pl.Series([1.7e9, 1.7e9], dtype=pl.Float32)
    with pytest.raises(UnknownFormatError, match="in single precision"):
        read_operations(written(tmp_path, OWN | {"start_s": start, "duration_s": [1.0, 1.0]}))


def test_times_that_are_no_numbers_are_set_aside(tmp_path: Path) -> None:
    table = read_operations(
        written(tmp_path, OWN | {"start_s": [float("nan"), 2.0], "duration_s": [1.0, float("inf")]})
    )
    assert table.operations.is_empty()
    assert sum(table.rejected.values()) == 2


def test_the_osdi25_layout_tells_groups_and_stages(tmp_path: Path) -> None:
    kinds = ["forward-compute", "forward-send", "forward-recv", "backward-send", "params-all-gather", "gc"]
    columns = {
        "dp_rank": [1] * 6, "stage": [0, 0, 1, 1, 1, 0], "rank": [4, 4, 5, 5, 5, 4], "step": [3] * 6, "optype": kinds,
        "start_ts": [0.0, 0.25, 0.25, 0.5, 0.0, 0.5], "duration": [0.25] * 6, "seq_id": [0] * 6, "mc": [0] * 6,
        "gmc": [0] * 6, "mb_id": [0, -1, -1, -1, -1, 0],
    }  # fmt: skip
    table = read_operations(written(tmp_path, columns))
    assert table.layout == "osdi25"
    assert table.operations["stage"].to_list() == [
        "step.compute", "step.exposed_comm", "step.exposed_comm", "step.exposed_comm", "step.exposed_comm",
        "step.host_bound",
    ]  # fmt: skip
    assert table.operations["group"].to_list() == [None, "forward.1.0", "forward.1.0", "backward.1.0", "params.1", None]
    assert table.operations["collective_sequence"].to_list() == [None, 0, 0, 0, 0, None]


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"PAR1" + b"\0" * 40, b"a,b\n1,2\n", b'{"resourceSpans": []}', b"\xff\xfe\0"]
)
def test_other_files_are_not_recognised_and_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    assert not recognises(path)
    with pytest.raises(UnknownFormatError, match="other"):
        read_operations(path)


@given(
    st.sets(st.sampled_from(["step", "rank", "operation", "start_ns", "end_ns", "duration_ns", "start_us", "end_s"]))
)
def test_a_table_needs_who_what_and_when_in_one_unit(columns: set[str]) -> None:
    needed = {"step", "rank", "operation", "start_ns"} <= columns and bool({"end_ns", "duration_ns"} & columns)
    assert (layout_of(columns) == "operations") == needed
