"""kill -9 while a store is pruned, rewritten or brought up to date: it is the one before or the one after, whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.benchmarks.receive_load import Batches
from tests.conformance import exports
from tracekit.otlp import Document, decode
from tracekit.stages import update_units
from tracekit.store import Database, IngestWriter, prune, rewrite

DAY_NS = 86_400 * 10**9
BEFORE_NS = exports.START_NS + DAY_NS // 2
ROUNDS = 8
_READY = b"ready\n"
_TABLES = ("spans", "units", "unit_stages", "resources", "scopes", "ingests")
# Rows that belong to none: a store that was left in the middle has some.
_LOOSE = """
    SELECT
        (SELECT count(*) FROM base.unit_stages WHERE unit_id NOT IN (SELECT unit_id FROM base.units))
        + (SELECT count(*) FROM base.spans WHERE resource_id NOT IN (SELECT resource_id FROM base.resources))
"""

State = tuple[int, ...]

PRUNE = f"""
import sys
from pathlib import Path
from tracekit.store import Database, prune, rewrite
path = Path(sys.argv[1])
with Database.open(path) as store:
    print("ready", flush=True)
    prune(store, before_ns={BEFORE_NS})
rewrite(path)
print("done", flush=True)
"""
UPGRADE = """
import sys
from pathlib import Path
from tracekit.store import Database
import duckdb, pyarrow, tracekit.store.schema
print("ready", flush=True)
Database.open(Path(sys.argv[1])).close()
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two days of traces and their units."""
    path = tmp_path_factory.mktemp("killed") / "store.duckdb"
    batches = Batches(seed=1)
    with Database.open(path) as store:
        for day in range(2):
            payloads = [Document(batches.next(exports.START_NS + day * DAY_NS)) for _ in range(60)]
            IngestWriter(store, source="test").write_all([(decode(payloads, encoding="protobuf", signal="traces"), ())])
        update_units(store)
    return path


def of_version_2(path: Path) -> None:
    """The store as version 2 wrote it."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE base.store_info SET schema_version = 2")
        for column in ("spans ALTER resource_id", "units ALTER unit_id", "unit_stages ALTER unit_id"):
            connection.execute(f"ALTER TABLE base.{column} TYPE UINTEGER")


def state(path: Path) -> State:
    """Rows of each table of the store as it is opened; nothing in it hangs loose."""
    with Database.open(path) as store:
        assert store.sql(_LOOSE).item() == 0
        return tuple(store.sql(f"SELECT count(*) FROM base.{table}").item() for table in _TABLES)


def run(script: str, path: Path, *, kill_after_s: float | None) -> float:
    """Run a script on a store, and kill it some time after it is ready; how long it took from there."""
    with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == _READY
        start_s = time.monotonic()
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            process.kill()
        process.stdout.read()
    return time.monotonic() - start_s


@pytest.mark.parametrize(
    ("script", "made"), [(PRUNE, lambda path: None), (UPGRADE, of_version_2)], ids=["prune", "migration"]
)
def test_a_store_killed_at_work_is_whole_and_can_be_worked_on_again(
    tmp_path: Path, stored: Path, script: str, made: Callable[[Path], None]
) -> None:
    """At eight moments over the whole of the work: no row is lost, none is left over, and a second run completes it."""
    original, path = tmp_path / "original.duckdb", tmp_path / "killed.duckdb"
    shutil.copy(stored, original)
    made(original)
    before = state(stored)
    shutil.copy(original, path)
    whole_s = run(script, path, kill_after_s=None)
    after = state(path)
    for number in range(ROUNDS):
        for left in tmp_path.glob("killed.duckdb*"):
            left.unlink()
        shutil.copy(original, path)
        run(script, path, kill_after_s=whole_s * number / (ROUNDS - 1))
        assert state(path) in (before, after)
        run(script, path, kill_after_s=None)
        assert state(path) == after
        assert list(tmp_path.glob("killed.duckdb.rewritten*")) == []


def test_pruning_takes_what_it_should(stored: Path, tmp_path: Path) -> None:
    """The test above would hold for work that does nothing."""
    path = tmp_path / "pruned.duckdb"
    shutil.copy(stored, path)
    with Database.open(path) as store:
        assert prune(store, before_ns=BEFORE_NS).spans > 0
    rewrite(path)
    assert 0 < state(path)[0] < state(stored)[0]
