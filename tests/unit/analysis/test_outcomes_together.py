"""Goodput and failures of jobs and requests as one answer each, and the commands that print them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.analysis.requests_received import ERROR, MS, S, call, receive, root
from tests.unit.analysis.rows import Request, Step, write_units
from tests.unit.analysis.test_compare import COUNT, traffic
from tracekit.analysis import failures, goodput
from tracekit.cli import commands
from tracekit.errors import UsageError
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]


def asked(*words: str) -> Result:
    """What a command prints; an error of ours is raised."""
    return CliRunner().invoke(commands, [*words], catch_exceptions=False)


def test_goodput_judges_requests_where_an_slo_is_given(store: Write) -> None:
    """Without one only jobs are told, and a condition on requests makes no sense."""
    database = store([Request([("ttft", "eng.queue", 10)])])
    assert goodput(database).serving is None
    serving = goodput(database, slo="ttft=1s").as_dict()["serving"]
    assert (serving["attempted"], serving["good"], sum(serving["buckets"].values())) == (1, 1, 0)
    with pytest.raises(UsageError, match="slo"):
        goodput(database, where="true")


def test_failures_hold_those_of_requests(database: Database, tmp_path: Path) -> None:
    """Counted, with one incident each; asked about one job, no request is told."""
    spans = [
        root(9 * MS, 500), call(2, MS, 8 * MS, status=ERROR), root(MS, 429, trace=2), root(MS, 503, trace=3),
        root(MS, 400, trace=4), root(MS, 499, trace=5),
    ]  # fmt: skip
    told = failures(receive(database, tmp_path, spans)).as_dict()
    counts = {name: told[name] for name in ("failed", "aborted", "rejected", "invalid", "shed")}
    assert counts == {"failed": 1, "aborted": 1, "rejected": 2, "invalid": 1, "shed": 1}
    assert [incident["victims"] for incident in told["incidents"]] == [[f"{1:032x}"]]
    assert failures(database, job="x").serving is None


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A store with a slow second half."""
    path = tmp_path / "t.duckdb"
    with Database.open(path) as database:
        write_units(database, [*traffic(1), *traffic(2, first_s=COUNT, prefill_factor=1.5)])
    return str(path)


def test_compare_fails_a_build_on_a_regression(file: str) -> None:
    """Exit 3 and a line for each, on standard error; 0 where the limit is higher, 2 where it is none."""
    sides = (f"start_ns < {COUNT * S}", f"start_ns >= {COUNT * S}", "--db", file)
    failed = asked("compare", *sides, "--fail-on-regression", "5%", "--json")
    assert failed.exit_code == 3
    assert "Regression: ttft" in failed.stderr
    told = json.loads(failed.stdout)
    assert told["verdict"] == "regressed"
    for metric in told["metrics"]:
        assert sum(stage["excess_ns"] for stage in metric["stages"]) == metric["excess_ns"]
    assert asked("compare", *sides, "--fail-on-regression", "90%").exit_code == 0
    with pytest.raises(UsageError, match="no share"):
        asked("compare", *sides, "--fail-on-regression", "five")


def test_a_store_is_a_side(file: str) -> None:
    """Compared with itself nothing changed."""
    told = json.loads(asked("compare", file, file, "--json").stdout)
    assert [metric["excess_ns"] for metric in told["metrics"]] == [0, 0, 0]
    assert told["before_count"] == told["after_count"] == 2 * COUNT


def test_goodput_is_asked_with_a_file_of_classes(file: str, tmp_path: Path) -> None:
    """Or with limits, and not with both."""
    path = tmp_path / "slo.toml"
    path.write_text("[[class]]\nname = 'm'\nslo = 'ttft=1m'\nmatch = { model = 'm' }\n", encoding="utf-8")
    told = json.loads(asked("goodput", "--slo-file", str(path), "--db", file, "--json").stdout)
    assert told["serving"]["classes"][0]["attempted"] == 2 * COUNT
    text = asked("goodput", "--slo", "ttft=20ms", "--db", file).stdout
    assert "Late requests by stage" in text
    with pytest.raises(UsageError, match="once"):
        asked("goodput", "--slo", "ttft=1s", "--slo-file", str(path), "--db", file)
