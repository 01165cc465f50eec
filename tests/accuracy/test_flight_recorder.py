"""Real Flight Recorder dumps of 16 ranks with injected faults: the injected ranks are found, and no other."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

import tracekit
from tracekit.analysis.jobs.hangs import Hang, explain_hang
from tracekit.importers.flight_recorder import Dump, read_dump, recognises


def runs(shared_data: Path) -> list[Path]:
    return sorted(each for each in (shared_data / "flight_recorder").iterdir() if each.is_dir())


def dumps_of(run: Path) -> list[Dump]:
    """The dumps of a run, under names that tell nothing."""
    return [read_dump(path.read_bytes(), name="dump") for path in sorted(run.glob("_dump_*"))]


def explained(dumps: list[Dump]) -> Hang:
    groups, entries = pl.concat([each.groups for each in dumps]), pl.concat([each.entries for each in dumps])
    return explain_hang(groups, entries, dumped=pl.Series([each.rank for each in dumps]))


def injected(run: Path) -> set[int]:
    told = re.search(r"Fault ranks: \[([\d, ]+)\]", (run / "fault_injection.log").read_text())
    assert told is not None
    return {int(rank) for rank in told[1].split(",")}


def test_every_dump_is_recognised_and_tells_its_rank(shared_data: Path) -> None:
    for run in runs(shared_data):
        for path in run.glob("_dump_*"):
            data = path.read_bytes()
            assert recognises(data[:4096])
            found = read_dump(data, name="dump")
            assert (found.rank, found.rank_source) == (int(path.name.rpartition("_")[2]), "content")


def test_exactly_the_injected_ranks_are_blamed(shared_data: Path) -> None:
    """Everybody else waited, directly or through others."""
    for run in runs(shared_data):
        hang = explained(dumps_of(run))
        assert set(hang.culprits["rank"]) == injected(run), run.name
        assert hang.confidence == "high"
        assert hang.blast_radius == 16 - len(injected(run))
        expected = "device_stuck" if "gpu" in run.name else "host_stuck"
        assert hang.rule == expected


@pytest.mark.parametrize("lost", range(16))
def test_a_lost_dump_never_accuses_a_victim(shared_data: Path, lost: int) -> None:
    """Without that of a culprit the other one is found, and the lost dump told."""
    for run in runs(shared_data):
        hang = explained([each for each in dumps_of(run) if each.rank != lost])
        assert set(hang.culprits["rank"]) == injected(run) - {lost}, run.name
        assert hang.alternatives.rows() == [([lost], "no_dump")]


def test_two_hangs_under_one_name_are_two_incidents(shared_data: Path, tmp_path: Path) -> None:
    """The dumps of both runs in one folder, as two jobs of one name or two attempts of a job leave them."""
    folder = tmp_path / "dumps"
    folder.mkdir()
    for run in runs(shared_data):
        for path in run.glob("_dump_*"):
            shutil.copy(path, folder / f"{run.name}{path.name}")
    with tracekit.open(tmp_path / "hangs.duckdb") as store:
        store.ingest(folder)
        answer = store.failures()
    found = answer.training.incidents
    assert found["id"].to_list() == ["dumps/0", "dumps/1"]
    assert sorted(map(sorted, found["ranks"].to_list())) == sorted(sorted(injected(run)) for run in runs(shared_data))
    assert "took" not in answer.summary
