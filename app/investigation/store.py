"""The trace store behind the app, and its answers, computed once for each state of the data.

A file is opened for reading for as long as one answer takes, so that `tracekit ingest` can write between two looks at
a page; its state is size and modification time. A store that a server receives into changes all the time: there the
state is how far the data had reached when the page was last asked to look, so that answers stay warm while spans
arrive (`investigation.seen_marks`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import streamlit as st

import tracekit as tk
from investigation.asking import Stopped, answers, is_still_looked_at
from investigation.chosen import chosen_store
from investigation.seen_marks import seen_mark


class StoreFile(NamedTuple):
    """One state of a store: whatever is computed from it stays true while these are equal.

    `state`: of a file, size and modification time of it and of the log that DuckDB keeps beside it while it is
    written; of a warehouse those of its manifest; of a store that is served, the columns of
    `queries/explore/store_mark.sql`.
    """

    path: str
    state: tuple[int, ...]
    is_live: bool = False


def store_file() -> StoreFile:
    """The store that the page shows. Raises `StoreError` where there is none."""
    path = chosen_store()
    if path.is_dir():
        # A warehouse is exchanged with its manifest.
        return StoreFile(str(path), _state(path / "manifest.json"))
    if not path.is_file():
        remedy = f"make one with `tracekit ingest PATH --db {path}`"
        raise tk.StoreError(f"there is no trace store at {path}; {remedy}")
    if tk.Store.server_of(path) is None:
        return StoreFile(str(path), (*_state(path), *_state(path.with_name(path.name + ".wal"))))
    return StoreFile(str(path), seen_mark(str(path)), is_live=True)


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


@contextmanager
def opened(file: StoreFile) -> Iterator[tk.Store]:
    """The store of a file, open for reading. Raises `StoreLockedError` and its siblings."""
    with tk.open(file.path, read_only=True) as store:
        yield store


@st.cache_data(max_entries=200, show_spinner=False)
def rows(file: StoreFile, query: str, **parameters: Any) -> pl.DataFrame:
    """Rows of the statement `queries/<query>.sql`."""
    with opened(file) as store:
        return store.query(query, **parameters)


def _answered(file: StoreFile, told: str, question: str, *arguments: Hashable, **options: Hashable) -> Any:
    """What the method `question` of the store answers; `told` says meanwhile what is done.

    Who leaves the page or stops it ends the question, where nobody else waits for it.
    """

    def ask(store: tk.Store) -> Any:
        return getattr(store, question)(*arguments, **options)

    key = (file, question, arguments, tuple(sorted(options.items())))
    try:
        with st.spinner(told, show_time=True):
            return answers().answer(key, partial(opened, file), ask, look=is_still_looked_at)
    except Stopped as stopped:
        raise Stopped(told.removesuffix(" …")) from stopped


def tail_answer(
    file: StoreFile, *, metric: str, quantile: float | None, where: str | None, baseline: str, outcome: str
) -> Any:
    """`tracekit.Store.tail`."""
    options = {"quantile": quantile, "where": where, "baseline": baseline, "outcome": outcome}
    return _answered(file, f"Splitting {metric} by stage …", "tail", metric, **options)


def changed_metrics(file: StoreFile, metrics: tuple[str, ...], *, where: str | None, outcome: str) -> list[str]:
    """Those of some metrics in which `tail` may find a change."""
    told = "Looking for when the store changed …"
    found = _answered(file, told, "changed_metrics", metrics, where=where, outcome=outcome)
    return list(found.filter(pl.col("episode_count") > 0)["metric"])


def stragglers_answer(file: StoreFile, *, job: str | None = None) -> Any:
    """`tracekit.Store.stragglers`."""
    return _answered(file, "Looking for whom the ranks waited …", "stragglers", job=job)


def quality_answer(file: StoreFile) -> Any:
    """`tracekit.Store.quality`."""
    return _answered(file, "Checking what arrived …", "quality")


def goodput_answer(file: StoreFile, *, job: str | None = None, price: float | None = None) -> Any:
    """`tracekit.Store.goodput` of training jobs."""
    return _answered(file, "Adding up where the time went …", "goodput", job=job, price=price)


def request_goodput_answer(file: StoreFile, *, slo: str, where: str | None = None) -> Any:
    """`tracekit.Store.request_goodput`."""
    return _answered(file, "Judging requests by the SLO …", "request_goodput", slo, where=where)


def failures_answer(file: StoreFile, *, where: str | None = None, job: str | None = None) -> Any:
    """`tracekit.Store.failures`."""
    return _answered(file, "Looking for what failed first …", "failures", where=where, job=job)


def compare_answer(file: StoreFile, *, before: str, after: str, slo: str | None, where: str | None) -> Any:
    """`tracekit.Store.compare`."""
    return _answered(file, "Comparing …", "compare", before, after, slo=slo, where=where)


def metrics_answer(file: StoreFile, metric: str | None, *, by: tuple[str, ...], every_s: float | None) -> Any:
    """`tracekit.Store.metrics`."""
    return _answered(file, "Reading metrics …", "metrics", metric, by=by, every_s=every_s)


def operations(file: StoreFile, trace_id: str) -> pl.DataFrame:
    """`tracekit.Store.operations`."""
    found: pl.DataFrame = _answered(file, "Reading the trace …", "operations", trace_id=trace_id)
    return found


def sql_rows(file: StoreFile, statement: str) -> pl.DataFrame:
    """`tracekit.Store.sql` of a statement that only looks."""
    found: pl.DataFrame = _answered(file, "Running the statement …", "sql", statement)
    return found
