"""`tracekit export`, as a user runs it: on a file, and on a store that a server holds."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import tracekit as tk
from tests.conformance.process import ServeProcess

ROOT = Path(__file__).resolve().parents[2]
STEP = ("--job", "job-a", "--step", "25")

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the sample job."""
    path = tmp_path_factory.mktemp("store") / "job.duckdb"
    with tk.open(path) as store:
        store.ingest(ROOT / "sample_traces" / "train_ddp_gloo")
    return path


@pytest.fixture(scope="module")
def server(database: Path) -> Iterator[ServeProcess]:
    """A server that holds the store."""
    server = ServeProcess(database)
    yield server
    server.stop()


def export(database: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with a store."""
    command = [sys.executable, "-m", "tracekit", "export", "--db", str(database), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def slices(text: str) -> list[dict[str, object]]:
    """The spans of a file for Perfetto."""
    return [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]


def test_a_step_goes_to_a_file_that_is_compressed_where_its_name_says_so(database: Path, tmp_path: Path) -> None:
    """What the file has no place for is told on standard error."""
    path = tmp_path / "step.json.gz"
    done = export(database, "--to", "perfetto", *STEP, "-o", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert "42 spans" in done.stderr
    assert "histograms and summaries left out" in done.stderr
    assert len(slices(gzip.decompress(path.read_bytes()).decode())) == 42


def test_rows_of_a_range_go_to_parquet(database: Path, tmp_path: Path) -> None:
    """In order of time; a time without a zone is UTC."""
    path = tmp_path / "spans.parquet"
    limits = ("--since", "2026-11-30T05:41:29", "--until", "2026-11-30T05:41:30+00:00")
    done = export(database, "--to", "parquet", *limits, "-o", str(path))
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(path)
    assert rows["start_ns"].is_sorted()
    assert 0 < rows.height < 3198
    assert rows["start_ns"].max() < 1_796_017_290 * 10**9 <= rows["end_ns"].max() + 10**9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "perfetto", "zz"), "is no trace id"),
        (("--to", "perfetto", "--since", "yesterday"), "is no time"),
        (("--to", "csv", *STEP), "go with --to perfetto"),
        (("--to", "perfetto", "--step", "9999"), "no step 9999"),
    ],
)
def test_what_cannot_be_exported_is_wrong_usage(database: Path, arguments: tuple[str, ...], said: str) -> None:
    """Exit 2, one line, nothing on standard output."""
    done = export(database, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_served_store_exports_the_same(database: Path, request: pytest.FixtureRequest) -> None:
    """The command asks the server, and the caller does not have to care."""
    alone = export(database, "--to", "perfetto", *STEP)
    request.getfixturevalue("server")
    served = export(database, "--to", "perfetto", *STEP)
    assert served.returncode == 0, served.stderr
    assert served.stdout == alone.stdout
    assert len(slices(served.stdout)) == 42
