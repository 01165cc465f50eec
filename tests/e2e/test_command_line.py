"""The command as a person or a script uses it: real processes, real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.e2e


def tracekit(
    *arguments: str | Path, cwd: Path, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[str]:
    """One run of the command in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "tracekit", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        env=os.environ | environment,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store `tracekit.duckdb` that holds both sample captures."""
    where = tmp_path_factory.mktemp("command")
    done = tracekit("ingest", ROOT / "sample_traces", cwd=where)
    assert done.returncode == 0, done.stderr
    return where


def test_ingest_prints_the_documented_json(tmp_path: Path) -> None:
    """Counts over all files, and the same for each file."""
    done = tracekit("ingest", ROOT / "sample_traces" / "vllm_gateway", "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    keys = ["spans", "metric_points", "logs", "duplicates", "rejected"]
    assert [answer[key] for key in keys] == [1134, 0, 0, 0, 0]
    captures = [file for file in answer["files"] if not file["skipped"]]
    assert [[file[key] for key in keys] for file in captures] == [[1134, 0, 0, 0, 0]]
    assert all({"path", "format", "error"} <= set(file) for file in answer["files"])


def test_ingest_reads_standard_input(tmp_path: Path) -> None:
    """`-` is standard input, whatever its framing."""
    capture = (ROOT / "sample_traces" / "train_ddp_gloo" / "train_ddp_gloo.metrics.jsonl").read_bytes()
    done = tracekit("ingest", "-", "--json", cwd=tmp_path, stdin=capture)
    assert done.returncode == 0
    assert json.loads(done.stdout)["metric_points"] == 132


def test_ingesting_again_stores_nothing(folder: Path) -> None:
    """The same files again are duplicates, also in a later process."""
    done = tracekit("ingest", ROOT / "sample_traces", "--json", "--db", "again.duckdb", cwd=folder)
    again = tracekit("ingest", ROOT / "sample_traces", "--json", "--db", "again.duckdb", cwd=folder)
    first, second = json.loads(done.stdout), json.loads(again.stdout)
    assert (second["spans"], second["metric_points"]) == (0, 0)
    # 132 points carry exemplars, which are records of their own.
    assert second["duplicates"] >= first["spans"] + first["metric_points"]


def test_rejects_are_told_by_the_exit_code_and_the_good_is_kept(tmp_path: Path) -> None:
    """Good records beside bad ones are stored; the reasons, the file and the offset are printed; the code is 1."""
    good = (ROOT / "sample_traces" / "vllm_gateway" / "vllm_gateway.traces.jsonl").read_bytes().splitlines()[0]
    bad_id = good.replace(b'"traceId":"f88e', b'"traceId":"zzzz')
    (tmp_path / "mixed.jsonl").write_bytes(good + b"\n{ broken\n" + bad_id)
    done = tracekit("ingest", "mixed.jsonl", "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert answer["spans"] == 2
    assert answer["rejected"] >= 2
    assert all(reject["first_offset"] > len(good) for reject in answer["files"][0]["rejects"])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["tail", "--metric", "ttft", "--db", "absent.duckdb"], 1, "absent.duckdb"),
        (["tail", "--metric", "nonsense"], 2, "--metric"),
        (["tail", "--metric", "ttft", "--where", "no_such_column = 1"], 1, "no_such_column"),
        (["query", "SELEC 1"], 1, "SELEC"),
        (["query"], 2, "SQL"),
        (["ingest", "no/such/file"], 1, "no/such/file"),
        (["ingest"], 2, "PATH"),
        (["query", "SELECT 1", "-o", "no/such/folder/x.csv"], 2, "no/such/folder"),
    ],
)
def test_errors_say_what_and_where_without_a_traceback(
    folder: Path, arguments: list[str], code: int, words: str
) -> None:
    """One or two lines on standard error, nothing like a traceback, and the documented exit code."""
    done = tracekit(*arguments, cwd=folder)
    assert done.returncode == code
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_query_cannot_change_the_store_or_read_files(folder: Path) -> None:
    """`query` is read-only."""
    hostile = ("DELETE FROM base.spans", "COPY (SELECT 1) TO 'x.csv'", "SELECT * FROM read_text('/etc/hostname')")
    for statement in hostile:
        assert tracekit("query", statement, cwd=folder).returncode == 1
    rows = tracekit("query", "SELECT count(*) AS spans FROM spans", "--json", cwd=folder).stdout
    assert json.loads(rows) == [{"spans": 1134 + 3198}]


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv", "markdown", "parquet"])
def test_every_format_holds_all_rows(folder: Path, output_format: str) -> None:
    """The same three rows in each format."""
    path = folder / f"rows.{output_format}"
    statement = "SELECT stage, owner FROM stages ORDER BY stage LIMIT 3"
    done = tracekit("query", statement, "--format", output_format, "-o", path, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    if output_format == "parquet":
        assert len(pl.read_parquet(path)) == 3
    else:
        text = path.read_text(encoding="utf-8")
        assert all(stage in text for stage in ("client.net", "eng.decode", "eng.decode_wait"))


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e", "step"])
def test_tail_prints_the_documented_json_and_its_parts_sum(folder: Path, metric: str) -> None:
    """`sum(stages.excess_ns) == excess_ns == tail_mean_ns - baseline_mean_ns`."""
    done = tracekit("tail", "--metric", metric, "--quantile", "0.9", "--json", cwd=folder)
    answer = json.loads(done.stdout)
    assert {"metric", "unit", "count", "tail_count", "threshold_ns", "verdict", "quality"} <= set(answer)
    assert sum(stage["excess_ns"] for stage in answer["stages"]) == answer["excess_ns"]
    assert answer["tail_mean_ns"] - answer["baseline_mean_ns"] == answer["excess_ns"]
    assert {"stage", "owner", "excess_ns", "share", "low_ns", "high_ns", "significant"} <= set(answer["stages"][0])


def test_stragglers_name_what_was_injected(folder: Path) -> None:
    """Data loading on rank 2, the checkpoint of step 39, forward on rank 1; the others waited."""
    answer = json.loads(tracekit("stragglers", "--json", cwd=folder).stdout)
    named = {(row["rank"], row["operation"], row["first_step"], row["last_step"]) for row in answer["culprits"]}
    assert named == {(2, "data_load", 20, 29), (0, "checkpoint_save", 39, 39), (1, "forward", 40, 49)}


def test_strict_quality_exits_with_3_unless_good(folder: Path) -> None:
    """A check that did not hold has its own code."""
    done = tracekit("quality", "--strict", "--json", cwd=folder)
    assert json.loads(done.stdout)["verdict"] == "usable"
    assert done.returncode == 3


def test_the_report_answers_every_question_that_the_store_can(folder: Path) -> None:
    """Requests and steps are both there, so are the headlines of all four metrics."""
    answer = json.loads(tracekit("report", "--json", cwd=folder).stdout)
    assert list(answer["tails"]) == ["ttft", "tpot", "e2e", "step"]
    assert answer["contents"]["span_count"] == 1134 + 3198
    text = tracekit("report", cwd=folder).stdout
    assert "What made the slow training steps slow?" in text


def test_an_empty_store_has_a_report_too(tmp_path: Path) -> None:
    """Nothing in, no error out."""
    (tmp_path / "empty.jsonl").write_bytes(b"")
    tracekit("ingest", "empty.jsonl", cwd=tmp_path)
    done = tracekit("report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 spans" in done.stdout


def test_tracekit_db_stands_for_the_option(folder: Path, tmp_path: Path) -> None:
    """The environment variable names the store."""
    done = tracekit("query", "SELECT 1 AS one", "--json", cwd=tmp_path, TRACEKIT_DB=str(folder / "tracekit.duckdb"))
    assert json.loads(done.stdout) == [{"one": 1}]


def test_a_warehouse_is_asked_as_a_store_is(tmp_path: Path, folder: Path) -> None:
    """Built from the samples it gives what the store of the samples gives; what writes to a store refuses it."""
    built = tracekit("build", ROOT / "sample_traces", "--to", "warehouse", "--json", cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["spans"] == 4332
    again = tracekit("build", ROOT / "sample_traces", "--to", "warehouse", cwd=tmp_path)
    assert "sources are in the warehouse already" in again.stderr
    stores = (folder / "tracekit.duckdb", "warehouse")
    answers = [tracekit("tail", "--metric", "ttft", "--db", store, cwd=tmp_path).stdout for store in stores]
    assert answers[0] == answers[1]
    for command in (["ingest", ROOT / "README.md"], ["serve", "--no-ui"]):
        refused = tracekit(*command, "--db", "warehouse", cwd=tmp_path)
        assert refused.returncode != 0
        assert "warehouse" in refused.stderr


def test_an_engine_and_its_master_go_together(tmp_path: Path) -> None:
    done = tracekit("build", "x", "--to", "w", "--engine", "spark", cwd=tmp_path)
    assert done.returncode == 2
    assert "--engine spark and --master URL go together" in done.stderr


@pytest.mark.parametrize("missing", ["/nowhere/a", "./a", "yesterday.duckdb"])
def test_a_side_of_a_comparison_that_is_a_path_is_no_condition(folder: Path, missing: str) -> None:
    """A store that is not there is told by its name, not read as SQL."""
    done = tracekit("compare", missing, "model = 'm'", cwd=folder)
    assert (done.returncode, f"there is no trace store at {Path(missing)}" in done.stderr) == (1, True)
