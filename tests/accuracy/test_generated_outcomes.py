"""Outcomes and token times of generated requests against what the generator knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from generators.generate import generate
from tests.unit.generators.conftest import SHORT
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened


@pytest.mark.parametrize("dialect", ["tracekit", "vllm"])
@pytest.mark.parametrize("scenario", ["client_aborts", "rate_limit_burst", "retry_storm"])
def test_outcomes_and_token_windows_are_those_of_the_run(
    database: Database, tmp_path: Path, scenario: str, dialect: str
) -> None:
    """Aborts, refusals and repeated attempts count as they ended; who was served has all its windows."""
    truth = generate(scenario, seed=0, overrides=SHORT | {"emit.dialect": dialect}, out=tmp_path, endpoint=None)
    ingest(database, [tmp_path / "traces.jsonl"])
    update_units(database)
    known = Counter(unit["outcome"] for unit in truth.content["units"])
    assert Counter(database.sql("SELECT outcome FROM units").to_series().to_list()) == known
    served = database.sql("SELECT count(last_token_ns), count(output_tokens) FROM units WHERE outcome = 'ok'")
    assert served.row(0) == (known["ok"], known["ok"])
    has_retries = database.sql("SELECT count(*) > 0 FROM unit_stages WHERE stage = 'retry'").item()
    assert has_retries == (scenario == "retry_storm")
