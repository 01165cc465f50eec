"""An empty store in memory for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracekit.store import Database


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened
