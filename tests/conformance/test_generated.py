"""Generated telemetry sent to the real receiver over OTLP/HTTP arrives whole."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

import tracekit as tk
from tests.conformance.process import ServeProcess
from tracekit.cli import commands


def test_what_generate_sends_to_an_endpoint_is_what_it_would_have_written(tmp_path: Path) -> None:
    """Spans, points and logs at a running server are those of the files; the folder gets only the truth."""
    settings = ["--set", "run.duration_s=8", "--set", "fault.start_s=2", "--set", "fault.duration_s=5"]
    server = ServeProcess(tmp_path / "sent.duckdb", "--no-ui")
    url = f"http://127.0.0.1:{server.http_port}"
    try:
        command = ["engine_errors", "--seed", "3", *settings, "--out", str(tmp_path / "truth"), "--endpoint", url]
        sent = CliRunner().invoke(commands, ["generate", *command], catch_exceptions=False)
    finally:
        assert server.stop() == 0
    assert sent.exit_code == 0, sent.output
    assert [path.name for path in (tmp_path / "truth").iterdir()] == ["truth.json"]

    CliRunner().invoke(
        commands, ["generate", "engine_errors", "--seed", "3", *settings, "--out", str(tmp_path / "files")]
    )
    with tk.open(tmp_path / "written.duckdb") as written, tk.open(tmp_path / "sent.duckdb") as arrived:
        for name in ("traces", "metrics", "logs"):
            written.ingest(tmp_path / "files" / f"{name}.jsonl")
        # The server has points of its own beside what it was sent.
        sent = "SEMI JOIN (FROM metric_streams WHERE name NOT LIKE 'tracekit.%') USING (stream_id)"
        for table in ("spans", f"metric_points {sent}", f"metric_histograms {sent}", "logs"):
            count = f"SELECT count(*) AS number FROM {table}"
            assert arrived.sql(count).item() == written.sql(count).item() > 0, table
        told = json.loads((tmp_path / "truth" / "truth.json").read_text(encoding="utf-8"))
        assert arrived.sql("SELECT count(*) AS number FROM spans").item() == told["spans"]
