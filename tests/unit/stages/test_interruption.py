"""An update of units that breaks off leaves whole units, and the next one makes up for it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from tests.unit.stages.stored import Span, store
from tracekit.stages import update_units
from tracekit.store import Database

TRACES = 400
UPDATE = """
import sys
from tracekit.stages import update_units
from tracekit.store import Database

with Database.open(sys.argv[1]) as database:
    print("open", flush=True)
    update_units(database, batch_traces=1)
"""
UNITS = "SELECT trace_id, start_ns, end_ns, span_count FROM base.units ORDER BY trace_id, start_ns"
SUMS = """
    SELECT units.trace_id, any_value(units.end_ns - units.start_ns) AS whole_ns, sum(unit_stages.self_ns) AS parts_ns
    FROM base.units JOIN base.unit_stages USING (unit_id) GROUP BY units.trace_id, units.unit_id ORDER BY ALL
"""


def spans(trace: int) -> list[Span]:
    """More than one batch holds: each trace is a batch of its own."""
    below = [Span(number, 10 * number, 10 * number + 5, parent=1, trace=trace) for number in range(2, 12)]
    return [Span(1, 0, 1000 + trace, trace=trace), *below]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interruption") / "store.duckdb"
    with Database.open(path) as database:
        store(database, [span for trace in range(1, TRACES + 1) for span in spans(trace)])
    return path


def test_killed_at_any_moment_it_leaves_whole_units_and_is_made_up_for(filled: Path) -> None:
    """kill -9 twice in the middle of many batches; then one update gives what an undisturbed one gives."""
    counts = [_killed_after(filled, batches) for batches in (3, 20)]
    assert all(0 < count < TRACES for count in counts)
    with Database.open(filled) as database:
        update = update_units(database, batch_traces=100)
        assert (update.requests, update.replaced) == (TRACES, counts[-1])
        assert database.sql(SUMS).select(pl.col("whole_ns") == pl.col("parts_ns")).to_series().all()
        found = database.sql(UNITS)
    assert found.height == TRACES
    assert found["span_count"].unique().to_list() == [11]


def _killed_after(path: Path, growth: int) -> int:
    """Kill an update after the file's log has grown for a while; returns the number of units it left."""
    log = path.with_name(path.name + ".wal")
    with subprocess.Popen([sys.executable, "-c", UPDATE, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        deadline = time.monotonic() + 60
        while (not log.exists() or log.stat().st_size < growth * 1000) and process.poll() is None:
            assert time.monotonic() < deadline, "the update stored nothing"
            time.sleep(0.001)
        process.kill()
    with Database.open(path) as database:
        units = database.sql(UNITS)
        assert units["span_count"].unique().to_list() == [11]
        assert database.sql(SUMS).select(pl.col("whole_ns") == pl.col("parts_ns")).to_series().all()
    return units.height
