"""Stores that a real server serves while browsers look at them: one server a store, for the whole run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tracekit as tk
from tests.conformance.process import ServeProcess
from tests.e2e.hostile_spans import hostile_requests, hostile_steps

ROOT = Path(__file__).resolve().parents[2]


class ServedStores:
    """Servers by the name of their store, each started when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._servers: dict[str, ServeProcess] = {}

    def address(self, name: str) -> str:
        """Where the app over a store is; `name` is a key of `STORES`."""
        return f"http://127.0.0.1:{self.server(name).app_port}"

    def server(self, name: str) -> ServeProcess:
        """The server of a store, to send to and to ask."""
        if name not in self._servers:
            path = self.folder / f"{name}.duckdb"
            with tk.open(path) as store:
                STORES[name](store, self.folder)
            self._servers[name] = ServeProcess(path, "--ui", "0")
        return self._servers[name]

    def stop(self) -> None:
        """End all of them."""
        for server in self._servers.values():
            server.stop()


def _samples(store: tk.Store, folder: Path) -> None:
    store.ingest(ROOT / "sample_traces")


def _nothing(store: tk.Store, folder: Path) -> None:
    pass


def _hostile(store: tk.Store, folder: Path) -> None:
    file = folder / "a\x1b[31m\u202eb.jsonl"
    file.write_text(json.dumps({"resourceSpans": hostile_requests() + hostile_steps()}), encoding="utf-8")
    store.ingest(file)


STORES: dict[str, Callable[[tk.Store, Path], None]] = {
    "samples": _samples,
    "empty": _nothing,
    "hostile": _hostile,
}
"""What is put into the store of a name before it is served. `empty` stays so: a test that sends has its own server."""


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedStores]:
    """The stores that tests look at and do not change."""
    stores = ServedStores(tmp_path_factory.mktemp("served"))
    yield stores
    stores.stop()
