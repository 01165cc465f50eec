"""Foreign text on every surface: hostile names go in, and no command or page does what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import tracekit as tk
from tests.e2e.hostile_spans import ESCAPES, IMAGE, LONG, NAMES, TURNED, hostile_requests, hostile_steps

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    ["tail", "--metric", "ttft"], ["tail", "--metric", "e2e"], ["tail", "--metric", "step"], ["report"], ["quality"],
    ["goodput"], ["goodput", "--slo", "ttft=1ms"], ["failures"], ["metrics"], ["stragglers"],
    ["whatif", "without=rank:1"],
    ["compare", "model = 'm'", "model <> 'm'"], ["query", "FROM spans"], ["query", "FROM units"],
    ["query", "SELECT * FROM spans JOIN spans USING (trace_id) LIMIT 30"], ["query", "FROM ingests"],
    ["query", f"SELECT 1 AS \"{IMAGE}\", '{ESCAPES}' AS \"{TURNED}\""],
)  # fmt: skip

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of hostile names, read from a file with a hostile name."""
    where = tmp_path_factory.mktemp("hostile")
    file = where / "a\x1b[31m\u202eb.jsonl"
    file.write_text(json.dumps({"resourceSpans": hostile_requests() + hostile_steps()}), encoding="utf-8")
    done = run("ingest", file, cwd=where)
    assert done.returncode == 0, done.stderr
    assert acting(done.stdout) == acting(done.stderr) == []
    return where


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One run of the command."""
    command = [sys.executable, "-m", "tracekit", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False, env=os.environ)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def acting(text: str) -> list[str]:
    """Characters that a terminal obeys or that turn a line round; a left-to-right mark only ends what letters began."""
    kinds = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return [each for each in text if unicodedata.category(each) in kinds and each not in "\n\u200e\u2060"]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_command_lets_a_name_act(folder: Path, arguments: list[str]) -> None:
    """Tables, CSV and Markdown: nothing moves a cursor, and no name fills more than a few lines."""
    done = run(*arguments, cwd=folder)
    assert "Traceback" not in done.stderr
    assert acting(done.stdout) == acting(done.stderr) == []
    summary = done.stdout.split("\n\n")[0] if arguments[0] != "query" else ""
    assert "n" * 130 not in summary
    assert "\nTotal: 0 spans" not in done.stdout


@pytest.mark.parametrize("output_format", ["csv", "markdown", "jsonl", "json"])
@pytest.mark.parametrize("arguments", COMMANDS[::4], ids=" ".join)
def test_no_format_lets_a_name_act(folder: Path, arguments: list[str], output_format: str) -> None:
    done = run(*arguments, "--format", output_format, cwd=folder)
    assert "Traceback" not in done.stderr
    assert acting(done.stdout) == []
    if output_format == "markdown":
        assert not re.search(r"(?<!\\)\]\(http|(?<!\\)<b>", done.stdout)


def test_json_keeps_every_character(folder: Path) -> None:
    rows = json.loads(run("query", "SELECT DISTINCT name FROM spans ORDER BY ALL", "--json", cwd=folder).stdout)
    assert {row["name"] for row in rows} == {*NAMES, "step"}


def test_errors_show_names_as_text(folder: Path) -> None:
    for arguments in (
        ["query", f"SELECT * FROM \"{ESCAPES}\""], ["tail", "--metric", "ttft", "--where", f"\"{ESCAPES}\" = 1"],
        ["ingest", f"no{ESCAPES}such"], ["query", "SELECT 1", "--db", f"no{ESCAPES}such.duckdb"],
    ):  # fmt: skip
        done = run(*arguments, cwd=folder)
        assert done.returncode == 1
        assert acting(done.stderr) == acting(done.stdout) == []


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Callable[..., AppTest]:
    """Opens a page of the app with parameters in its address."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "app"), *sys.path])
    monkeypatch.setenv("TRACEKIT_DB", str(folder / "tracekit.duckdb"))

    def visit_page(page: str, **parameters: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=120).run()
        app.switch_page(f"app_pages/{page}")
        for name, value in parameters.items():
            app.query_params[name] = value
        return app.run()

    return visit_page


def traces_of(folder: Path) -> list[str]:
    with tk.open(folder / "tracekit.duckdb", read_only=True) as store:
        rows = store.sql("SELECT name, min(trace_id) AS trace_id FROM spans WHERE kind = 'SERVER' GROUP BY name")
    assert isinstance(rows, pl.DataFrame)
    return rows["trace_id"].to_list()


@pytest.mark.parametrize(
    ("page", "parameters"),
    [
        ("overview.py", {}), ("failures.py", {}), ("goodput.py", {}), ("metrics.py", {}),
        ("goodput.py", {"slo": IMAGE}), ("ledger.py", {"job": IMAGE}), ("ledger.py", {"job": ESCAPES}),
        ("compare.py", {"before": f"service_name = '{IMAGE}'", "after": f"service_name = '{LONG}'"}),
        ("sql.py", {"sql": "SELECT DISTINCT name, service_name FROM spans"}), ("sql.py", {"sql": IMAGE}),
        ("trace.py", {"text": IMAGE}), ("compare.py", {"before": IMAGE, "after": ESCAPES}),
        ("failures.py", {"where": IMAGE}),
        ("tail.py", {"metric": "e2e"}), ("tail.py", {"metric": "step"}),
        ("tail.py", {"metric": "e2e", "service": IMAGE}), ("tail.py", {"where": IMAGE}),
        ("tail.py", {"metric": IMAGE}), ("trace.py", {"trace": IMAGE}), ("trace.py", {"job": IMAGE, "step": "40"}),
        ("trace.py", {"job": ESCAPES + IMAGE, "step": "4"}),
        *(("trace.py", {"trace": f"{number:032x}"}) for number in range(1, 6)),
    ],
)  # fmt: skip
def test_no_page_lets_a_name_act(visit: Callable[..., AppTest], page: str, parameters: dict[str, str]) -> None:
    """What pages give to Markdown has no live link, image, HTML or address, and no headline is a novel."""
    app = visit(page, **parameters)
    assert not app.exception
    texts = [
        str(element.value)
        for elements in (app.title, app.subheader, app.markdown, app.caption, app.info, app.warning, app.error)
        for element in elements
    ]
    assert texts
    for text in texts:
        # Code is shown as it is: spans of it, and lines set in behind an empty one.
        inert = re.sub(r"(?m)(?<=\n\n) {4}.*(?:\n {4}.*)*|(`+).*?\1", "", text)
        assert not re.search(r"(?<!\\)\]\(|(?<!\\)<b|https?:(?!\u2060)/", inert), text
        assert acting(text) == []
        assert "n" * 1000 not in text or page == "trace.py"
