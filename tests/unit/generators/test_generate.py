"""From a scenario to files: all or nothing, the same bytes, the truth beside them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from generators import generate as module
from generators.generate import FILES, generate
from generators.sdk_export import ExportError
from tests.unit.generators.conftest import SHORT
from tracekit.errors import UsageError

TINY = SHORT | {"run.duration_s": 5.0}


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    """Spans, metrics, logs and truth are equal to the byte; another seed is another run."""
    for name, seed in (("one", 7), ("again", 7), ("other", 8)):
        generate("slow_worker", seed=seed, overrides=TINY | {"clients.abort_share": 1.0}, out=tmp_path / name)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
        assert (tmp_path / "one" / name).read_bytes() != (tmp_path / "other" / name).read_bytes()


def test_a_run_that_logs_nothing_has_no_file_of_logs(tmp_path: Path) -> None:
    """An empty file would be of no format."""
    generate("healthy", seed=1, overrides=TINY, out=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "traces.jsonl", "truth.json"]


def test_the_truth_names_culprits_effects_and_every_unit(tmp_path: Path) -> None:
    """What is returned is what is written, and units sum to their own time."""
    truth = generate("auth_slowdown", seed=1, overrides=TINY, out=tmp_path)
    written = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(truth.content))
    assert written["culprits"] == [
        {"parameter": "fault.delay_ms", "value": 60.0, "stages": ["gw.auth"], "host": "gateway-0"}
    ]
    assert max(written["effect_ns"], key=written["effect_ns"].get) == "gw.auth"
    for unit in written["units"]:
        parts = sum(sum(window.values()) for window in unit["stages_ns"].values())
        assert parts == unit["end_ns"] - unit["start_ns"]
        assert parts - sum(unit["effect_ns"].values()) == sum(unit["without_fault_ns"].values())


def test_a_run_without_fault_has_no_culprit_and_no_effect(tmp_path: Path) -> None:
    """The counterfactual of a healthy run is itself."""
    truth = generate("load_rise", seed=1, overrides=TINY, out=tmp_path).content
    assert truth["culprits"] == []
    assert truth["fault_window_ns"] is None
    assert truth["effect_ns"] == {}
    assert all(unit["injected_ns"] == unit["effect_ns"] == {} for unit in truth["units"])


def test_spans_and_truth_speak_of_the_same_traces(tmp_path: Path) -> None:
    """Each unit's trace id is in the telemetry and the other way round."""
    truth = generate("healthy", seed=1, overrides=TINY, out=tmp_path).content
    text = (tmp_path / "traces.jsonl").read_text(encoding="utf-8")
    seen = {
        span["traceId"]
        for line in text.splitlines()
        for part in json.loads(line)["resourceSpans"]
        for scoped in part["scopeSpans"]
        for span in scoped["spans"]
    }
    assert seen == {unit["trace_id"] for unit in truth["units"]}
    assert truth["spans"] == text.count('"spanId"')


@pytest.mark.parametrize(
    "overrides",
    [
        {"engine.replicsa": 1},
        {"clients.rate_per_s": -1},
        {"engine.kv_tokens": 100},
        {"corrupt.missing_share": 2},
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_written(tmp_path: Path, overrides: dict[str, Any]) -> None:
    """Not even the folder is made."""
    with pytest.raises(UsageError):
        generate("healthy", overrides=overrides, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_of_an_earlier_run_are_not_overwritten(tmp_path: Path) -> None:
    """Truth and telemetry of different runs must not mix."""
    generate("healthy", overrides=TINY, out=tmp_path)
    before = (tmp_path / "traces.jsonl").read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        generate("slow_worker", overrides=TINY, out=tmp_path)
    assert (tmp_path / "traces.jsonl").read_bytes() == before


def test_a_run_needs_somewhere_to_go() -> None:
    """Neither folder nor endpoint is a mistake."""
    with pytest.raises(UsageError, match="nothing to write to"):
        generate("healthy", overrides=TINY)


@pytest.mark.parametrize("has_folder", [False, True])
def test_an_interrupt_leaves_no_half_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_folder: bool
) -> None:
    """Ctrl-C after the telemetry and before the truth: the folder is as it was."""
    out = tmp_path / "deep" / "out"
    if has_folder:
        out.mkdir(parents=True)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_truth", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate("healthy", overrides=TINY, out=out)
    assert sorted(tmp_path.rglob("*")) == ([tmp_path / "deep", out] if has_folder else [])


@pytest.mark.filterwarnings("ignore")
def test_an_endpoint_that_is_down_is_an_error_without_partial_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exporter's own retries end, then nothing is left behind."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with pytest.raises(ExportError, match="is the endpoint up"):
        generate("healthy", overrides=TINY, out=tmp_path / "out", endpoint="http://127.0.0.1:9")
    assert not (tmp_path / "out").exists()


def test_the_command_writes_files_and_lists_scenarios(tmp_path: Path) -> None:
    """The command line of the design: SCENARIO --out DIR --seed N --set k=v, and --list."""
    command = pytest.importorskip("tracekit.cli.generate").generate
    settings = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
    done = CliRunner().invoke(command, ["slow_worker", "--out", str(tmp_path), "--seed", "3", *settings])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "traces.jsonl", "truth.json"]
    listing = CliRunner().invoke(command, ["--list"]).output
    assert "slow_worker (serving)" in listing
    assert "Right answer:" in listing
    parameters = CliRunner().invoke(command, ["slow_worker", "--list"]).output
    assert "fault.step_factor = 3.0" in parameters
    assert "generators" in sys.modules
