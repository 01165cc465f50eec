"""A store in memory, and units written straight into its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from tests.unit.analysis.rows import Request, Step, write_units
from tracekit.store import Database


@pytest.fixture
def database() -> Iterator[Database]:
    """An empty store in memory."""
    with Database.open(None) as opened:
        yield opened


@pytest.fixture
def store(database: Database) -> Callable[[Sequence[Request | Step]], Database]:
    """Write units with their stages and waits into the store, and give it."""
    return partial(write_units, database)
