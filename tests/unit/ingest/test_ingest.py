"""Files into a store: what is stored, what is counted, and what the report says of each file."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.benchmarks.ingest_traces import write_files
from tests.unit.store.records import gauge, json_lines, logs, metrics, point, span, traces
from tracekit.errors import StoreError
from tracekit.ingest import FileReport, IngestReport, ingest
from tracekit.store import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "store.duckdb") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


def counted(report: IngestReport | FileReport) -> tuple[int, int, int, int, int]:
    """Spans, points, logs, duplicates, rejected."""
    counts = report.counts if isinstance(report, FileReport) else report
    return counts.spans, counts.metric_points, counts.logs, counts.duplicates, counts.rejected


MIXED = [traces(span(1, 1), span(1, 2)), metrics(gauge("cpu", point(1, 2))), logs({"timeUnixNano": "1"})]


def test_the_real_captures_are_stored_whole_and_only_once(shared_data: Path, tmp_path: Path) -> None:
    """1,134 spans of serving, 3,198 spans and 132 points of training; and again after a restart."""
    path = tmp_path / "store.duckdb"
    with Database.open(path) as database:
        report = ingest(database, [shared_data / "real"])
        assert counted(report) == (1134 + 3198, 132, 0, 0, 0)
        assert {Path(file.path).name: file.counts.spans for file in report.files if file.counts.spans} == {
            "vllm_gateway.traces.jsonl": 1134,
            "train_ddp_gloo.traces.jsonl": 3198,
        }
        assert report.is_complete
    with Database.open(path) as database:
        assert counted(ingest(database, [shared_data / "real"])) == (0, 0, 0, 1134 + 3198 + 132, 0)
        assert database.sql("SELECT count(*) FROM spans").item() == 1134 + 3198
        points = "SELECT (SELECT count(*) FROM metric_points) + (SELECT count(*) FROM metric_histograms)"
        assert database.sql(points).item() == 132
        assert database.sql("SELECT count(DISTINCT rank) FROM resources WHERE job_id = 'job-a'").item() == 4


def test_several_signals_in_one_file_are_all_stored(database: Database, folder: Path) -> None:
    """Pipelines may share one file; the report counts each kind."""
    (folder / "mixed.jsonl").write_bytes(json_lines(MIXED))
    assert counted(ingest(database, [folder])) == (2, 1, 1, 0, 0)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_compressed_files_are_recognised_by_content(database: Database, folder: Path, pack: Any) -> None:
    """A name without the usual ending makes no difference."""
    path = folder / "traces"
    path.write_bytes(pack(json_lines(MIXED)))
    report = ingest(database, [path])
    assert counted(report) == (2, 1, 1, 0, 0)
    assert pack.__module__.removesuffix("andard") in str(report.files[0].format).replace("zstandard", "zst")


def test_the_same_spans_in_both_encodings_are_the_same_spans(database: Database, folder: Path) -> None:
    """Protobuf and JSON meet: what one brought, the other repeats."""
    files = [write_files(folder, spans=2000, encoding=encoding) for encoding in ("protobuf", "json")]
    assert [counted(file) for file in ingest(database, files).files] == [
        (2000, 0, 0, 0, 0),
        (0, 0, 0, 2000, 0),
    ]


def test_a_bad_file_does_not_stop_the_others(database: Database, folder: Path) -> None:
    """Each file's own fault is in its report; the good ones are stored; the exit code can say so."""
    (folder / "good.jsonl").write_bytes(json_lines(MIXED))
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "text.txt").write_bytes(b"Dear diary, today nothing was traced.\n")
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    names = ["empty.jsonl", "text.txt", "gone.jsonl", "missing.jsonl", "good.jsonl"]
    report = ingest(database, [folder / name for name in names])
    errors = {Path(file.path).name: file.error for file in report.files}
    assert errors["empty.jsonl"] == "is empty"
    assert "starts with the bytes" in str(errors["text.txt"])
    assert "which is not there" in str(errors["gone.jsonl"])
    assert "No such file" in str(errors["missing.jsonl"])
    assert errors["good.jsonl"] is None
    assert counted(report) == (2, 1, 1, 0, 0)
    assert not report.is_complete


def test_other_files_in_a_folder_are_named_but_no_failure(database: Database, folder: Path) -> None:
    """A README beside the traces is skipped, and the report says so; named by itself it is an error."""
    (folder / "README.md").write_text("# What happened here\n")
    (folder / "traces.jsonl").write_bytes(json_lines(MIXED))
    report = ingest(database, [folder])
    assert [(Path(file.path).name, file.is_skipped) for file in report.files] == [
        ("README.md", True),
        ("traces.jsonl", False),
    ]
    assert report.files[0].error is not None
    assert report.is_complete
    assert not ingest(database, [folder / "README.md"]).is_complete


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_says_so(database: Database, folder: Path) -> None:
    """The operating system's reason is in the report."""
    path = folder / "secret.jsonl"
    path.write_bytes(json_lines(MIXED))
    path.chmod(0)
    assert "Permission denied" in str(ingest(database, [path]).files[0].error)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that breaks while it is read")
def test_a_file_that_breaks_while_it_is_read_says_so(database: Database, folder: Path) -> None:
    """An error of the disk ends its file, not the ingest."""
    (folder / "good.jsonl").write_bytes(json_lines(MIXED))
    report = ingest(database, ["/proc/self/mem", folder / "good.jsonl"])
    assert [file.error for file in report.files] == ["cannot be read: Input/output error", None]
    assert counted(report) == (2, 1, 1, 0, 0)


def test_a_truncated_file_keeps_what_is_whole_and_names_the_place(database: Database, folder: Path) -> None:
    """The rest is counted with its byte offset."""
    whole = json_lines(MIXED[:1])
    (folder / "cut.jsonl").write_bytes(whole + json_lines([traces(span(2, 1), span(2, 2))])[:-60])
    report = ingest(database, [folder / "cut.jsonl"])
    assert report.spans >= 2
    assert not report.is_complete
    offsets = [reject.first_offset for reject in report.files[0].counts.rejects if reject.kind == "rejected"]
    assert offsets
    assert all(offset is not None and offset >= len(whole) for offset in offsets)
    stored = database.sql("SELECT reason, record_count, first_offset FROM ingest_rejects WHERE kind = 'rejected'")
    assert stored["first_offset"].to_list() == offsets


def test_the_json_of_the_report_is_what_scripts_rely_on(database: Database, folder: Path) -> None:
    """Totals and files carry the same counts, and the totals are the sums."""
    (folder / "a.jsonl").write_bytes(json_lines([*MIXED, traces(span(1, 1)), traces(span(1, 1, name="x"))]))
    (folder / "b.jsonl").write_bytes(json_lines(MIXED))
    result = json.loads(json.dumps(ingest(database, [folder]).as_dict()))
    counts = ["spans", "metric_points", "logs", "duplicates", "rejected"]
    assert list(result) == [*counts, "files"]
    assert {"path", "format", "error", *counts} <= set(result["files"][0])
    assert [result[name] for name in counts] == [2, 1, 1, 5, 1]
    for name in counts:
        assert result[name] == sum(file[name] for file in result["files"])
    assert result["files"][0]["rejects"][0]["reason"] == "span_id_conflict"
    rows = database.sql("SELECT source, spans, metric_points, logs, duplicates, rejected FROM ingests ORDER BY 1")
    assert rows.rows() == [tuple(file[name] for name in ("path", *counts)) for file in result["files"]]


def test_progress_rises_to_the_size_of_all_files(database: Database, folder: Path) -> None:
    """A bar that follows it ends full."""
    files = [write_files(folder, spans=2000, encoding=encoding) for encoding in ("protobuf", "json")]
    seen: list[tuple[int, int]] = []
    ingest(database, files, progress=lambda done, total: seen.append((done, total)))
    total = sum(path.stat().st_size for path in files)
    assert {each[1] for each in seen} == {total}
    assert [each[0] for each in seen] == sorted(each[0] for each in seen)
    assert seen[-1][0] == total


def test_what_is_computed_from_records_is_brought_up_to_date_afterwards(database: Database, folder: Path) -> None:
    """`after` sees everything that was ingested."""
    (folder / "a.jsonl").write_bytes(json_lines(MIXED))
    seen: list[int] = []
    ingest(database, [folder], after=lambda after: seen.append(after.sql("SELECT count(*) FROM spans").item()))
    assert seen == [2]


def test_large_files_are_written_in_several_batches(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files may be larger than memory: batches are cut by size, and the result is the same."""
    monkeypatch.setattr("tracekit.ingest.reading.BATCH_ROWS", 300)
    monkeypatch.setattr("tracekit.ingest.reading._CHUNK_BYTES", 20_000)
    path = write_files(folder, spans=5000, encoding="protobuf")
    seen: list[int] = []
    assert counted(ingest(database, [path], progress=lambda done, _: seen.append(done))) == (5000, 0, 0, 0, 0)
    assert len(seen) > 5
    assert database.sql("SELECT count(DISTINCT (trace_id, span_id)) FROM spans").item() == 5000


def test_standard_input_is_read_like_a_file(tmp_path: Path) -> None:
    """`-` reads what is piped in, in any format."""
    program = textwrap.dedent("""
        import sys
        from tracekit.ingest import ingest
        from tracekit.store import Database
        with Database.open(sys.argv[1]) as database:
            report = ingest(database, ["-"])
            print(report.spans, report.metric_points, report.logs, report.files[0].path)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "piped.duckdb")],
        input=gzip.compress(json_lines(MIXED)),
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"2", b"1", b"1", b"-"]


def test_a_killed_ingest_leaves_whole_batches_and_is_completed_by_another(tmp_path: Path) -> None:
    """What was reported as durable survives `kill -9`; ingesting again stores the rest."""
    files = write_files(tmp_path, spans=20_000, encoding="protobuf")
    store = tmp_path / "killed.duckdb"
    program = textwrap.dedent("""
        import os, signal, sys
        from tracekit.ingest import reading, ingest
        from tracekit.store import Database
        reading.BATCH_ROWS, reading._CHUNK_BYTES = 2000, 500_000
        def die_in_the_middle(done, total):
            if done > total / 2:
                print(database.sql("SELECT count(*) FROM spans").item(), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        database = Database.open(sys.argv[1])
        ingest(database, [sys.argv[2]], progress=die_in_the_middle)
    """)
    command = [sys.executable, "-c", program, str(store), str(files)]
    killed = subprocess.run(command, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    acknowledged = int(killed.stdout)
    assert 0 < acknowledged < 20_000
    with Database.open(store) as database:
        assert database.sql("SELECT count(*) FROM spans").item() == acknowledged
        assert "did not finish" in database.sql("SELECT error FROM ingests").item()
        assert counted(ingest(database, [files])) == (20_000 - acknowledged, 0, 0, acknowledged, 0)


FILL_THE_DISK = textwrap.dedent("""
    import resource, signal, sys
    from tracekit.errors import StoreFullError
    from tracekit.ingest import ingest
    from tracekit.store import Database
    # A file that may not grow is refused by the operating system as a full disk refuses it.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    database = Database.open(sys.argv[1])
    ingest(database, [sys.argv[2]])
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
    try:
        ingest(database, [sys.argv[3]])
    except StoreFullError as error:
        print(error)
""")


@pytest.mark.parametrize("room_bytes", [1_500_000, 4_000_000])
def test_a_full_disk_keeps_what_was_stored_and_says_so(tmp_path: Path, room_bytes: int) -> None:
    """The error names the store and how far the ingest came; with room again it is completed."""
    first = write_files(tmp_path, spans=2000, encoding="protobuf")
    second = write_files(tmp_path, spans=150_000, encoding="protobuf", seed=2)
    store = tmp_path / "full.duckdb"
    command = [sys.executable, "-c", FILL_THE_DISK, str(store), str(first), str(second), str(room_bytes)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert "no room to write" in done.stdout
    assert "this ingest stored 0 spans" in done.stdout
    with Database.open(store) as database:
        assert database.sql("SELECT count(*) FROM spans").item() == 2000
        assert counted(ingest(database, [first, second])) == (150_000, 0, 0, 2000, 0)


def test_a_store_that_cannot_be_written_is_the_callers_error(tmp_path: Path, folder: Path) -> None:
    """A store opened for reading takes nothing."""
    (folder / "a.jsonl").write_bytes(json_lines(MIXED))
    Database.open(tmp_path / "store.duckdb").close()
    with (
        Database.open(tmp_path / "store.duckdb", read_only=True) as database,
        pytest.raises(StoreError, match="read-only"),
    ):
        ingest(database, [folder])
