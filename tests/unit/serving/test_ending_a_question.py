"""Who asks the served store from within its process can end what was asked: what runs, and what waits for its turn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest

import tracekit as tk
from tracekit.errors import QueryError
from tracekit.receiver import ReceiverSettings
from tracekit.serving.governor import AskingLimits, Governor
from tracekit.store import Database, holding

ENDLESS = "SELECT sum(hash(a.range + b.range)) FROM range(10_000_000) AS a, range(10_000_000) AS b"


def test_an_interrupted_store_ends_its_own_questions_alone(tmp_path: Path) -> None:
    """One place: the first question of each has it, the second waits; nobody else's is touched."""
    path = tmp_path / "store.duckdb"
    with (
        Database.serve(path, row_group_rows=2048, tuning=ReceiverSettings().tuning(path)) as database,
        closing(Governor(lambda: database, AskingLimits(running=1))) as governor,
        holding(path, governor),
        ThreadPoolExecutor(3) as askers,
    ):
        mine, others = tk.open(path, read_only=True), tk.open(path, read_only=True)
        running = askers.submit(mine.sql, ENDLESS)
        waiting = askers.submit(mine.sql, ENDLESS)
        after = askers.submit(others.sql, "SELECT 42")
        while not (running.done() and waiting.done()):
            mine.interrupt()
            wait([running, waiting], timeout=0.05)
        for ended in (running, waiting):
            with pytest.raises(QueryError, match="nobody waits"):
                ended.result()
        assert after.result().item() == 42
