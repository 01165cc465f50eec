"""Files that are not OTLP, into a store and out of its answers."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl

from tests.unit.importers.test_flight_recorder import dump, entry
from tracekit import open as open_store
from tracekit.importers.operation_records import ORIGIN_NS

EPOCH_NS = 1_700_000_000_000_000_000
MS = 1_000_000


def test_dumps_of_a_folder_are_one_job_whose_hang_is_an_incident(tmp_path: Path) -> None:
    """Rank 2 never entered collective 7 of its group; rank 3 waits for it."""
    folder = tmp_path / "pretrain"
    folder.mkdir()
    idle = {"4": {"last_enqueued_collective": 6, "last_started_collective": -1, "last_completed_collective": 6}}
    (folder / "_dump_2").write_bytes(pickle.dumps(dump(entries=[], pg_status=dump()["pg_status"] | idle), 2))
    waiting = {"4": {"last_enqueued_collective": 7, "last_started_collective": -1, "last_completed_collective": 6}}
    (folder / "_dump_3").write_bytes(pickle.dumps(dump(entries=[entry(7)], pg_status=dump()["pg_status"] | waiting), 2))
    (folder / "_dump_9").write_bytes(b"\x80\x02cos\nsystem\nversion pg_config(tR.")
    with open_store(None) as store:
        report = store.ingest(folder)
        errors = [file.error for file in report.files if file.error]
        incident = store.failures(job="pretrain").training.incidents.row(0, named=True)
        asked = store.sql("SELECT count(*) FROM logs WHERE event_name = 'flight_recorder.entry'").item()
    assert len(errors) == 1
    assert "its instruction GLOBAL does more than build" in errors[0]
    assert (incident["rule"], incident["ranks"], incident["source"]) == ("host_stuck", [2], "flight_recorder")
    assert incident["blast_radius"] == 1
    assert asked == 1


def operations(*, first_ns: int) -> pl.DataFrame:
    """Two ranks, ten steps: rank 1 computes 15 ms, rank 0 10 ms, then both reduce for 2 ms."""
    rows = []
    for step in range(10):
        begin = first_ns + step * 17 * MS
        for rank, compute_ms in enumerate((10, 15)):
            common = {"step": step, "rank": rank, "host": f"node-{rank}"}
            done = begin + compute_ms * MS
            rows += [
                common | {"operation": 'for"ward', "stage": "step.compute", "start_ns": begin, "end_ns": done},
                common | {"operation": "all_reduce", "stage": "step.exposed_comm", "collective": "all_reduce",
                          "group": "world", "collective_sequence": step, "start_ns": done, "end_ns": begin + 17 * MS},
            ]  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def test_a_table_of_operations_answers_who_was_slow_and_what_it_would_give_back(tmp_path: Path) -> None:
    operations(first_ns=EPOCH_NS).write_parquet(tmp_path / "run.parquet")
    with open_store(None) as store:
        first, again = store.ingest(tmp_path / "run.parquet"), store.ingest(tmp_path / "run.parquet")
        found = store.whatif("without=rank:1")
        units = store.sql("SELECT kind, count(*), sum(end_ns - start_ns) FROM units GROUP BY ALL ORDER BY ALL").rows()
        names = store.sql("SELECT DISTINCT name FROM spans ORDER BY ALL")["name"].to_list()
    assert (first.spans, first.rejected) == (60, 0)
    assert (again.spans, again.duplicates) == (0, 60)
    assert ("step", 20, 20 * 17 * MS) in units
    assert names == ["all_reduce", 'for"ward', "step"]
    assert (found.before, found.after, found.verdict) == (17 * MS, 12 * MS, "faster")
    assert found.summary.startswith("Without rank 1: 29.4% faster (")


def test_steps_without_absolute_time_are_laid_down_and_that_is_told(tmp_path: Path) -> None:
    operations(first_ns=0).write_csv(tmp_path / "run.csv")
    with open_store(None) as store:
        report = store.ingest(tmp_path / "run.csv")
        first_ns = store.sql("SELECT min(start_ns) FROM spans").item()
        noted = store.sql("SELECT kind, reason, example FROM ingest_rejects").rows()
    assert report.spans == 60
    assert first_ns == ORIGIN_NS
    assert noted == [("note", "assumed", "times do not count from the Unix epoch: they are kept as they are")]
