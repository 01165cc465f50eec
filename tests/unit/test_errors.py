"""Errors carry what programs want to know, wherever they travel."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import tracekit as tk
from tracekit import errors
from tracekit.errors import QueryError, StoreError, StoreLockedError, TracekitError, UnknownFormatError, UsageError
from tracekit.remote.client import _error

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, TracekitError)]

EXAMPLES = [
    UsageError("no", option="where", value="("),
    QueryError("no", statement="SELEC"),
    UnknownFormatError("no", path="a.bin"),
    StoreError("no", path="a.duckdb"),
    StoreLockedError("no", path=Path("a.duckdb"), endpoint="http://127.0.0.1:4318", pid=7),
    errors.StoreVersionError("no", path="a.duckdb"),
    errors.StoreFullError("no", path="a.duckdb"),
    errors.StoreMemoryError("no", path="a.duckdb"),
    errors.InsufficientDataError("no"),
    errors.BusyError("no"),
    TracekitError("no"),
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_class_can_be_raised_with_a_message_alone(kind: type[TracekitError]) -> None:
    """What is not known is None, and the message is what the error says."""
    error = kind("what, where, what to do")
    assert str(error) == "what, where, what to do"
    assert set(error.facts.values()) <= {None}


def test_every_class_has_an_example_here() -> None:
    """A new class must survive the ways that the others survive."""
    assert {type(error) for error in EXAMPLES} == set(CLASSES)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickle_and_the_wire(error: TracekitError) -> None:
    """Class, message and facts are the same in another process, notes or not."""
    error.add_note("in a test")
    body = {"error": type(error).__name__, "message": str(error), "facts": error.facts}
    for other in (pickle.loads(pickle.dumps(error)), _error(400, json.dumps(body).encode())):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert other.facts == error.facts


@pytest.mark.parametrize("facts", [{"path": "a", "unheard_of": 1}, [], 7])
def test_a_server_that_tells_other_facts_is_still_understood_as_refusing(facts: object) -> None:
    """A reply of another version is an error of the store, never one of the client's own making."""
    body = json.dumps({"error": "StoreError", "message": "no", "facts": facts}).encode()
    with pytest.raises(StoreError, match="no"):
        raise _error(503, body)


def test_a_store_that_cannot_be_opened_says_which(tmp_path: Path) -> None:
    """The path is an attribute, not only part of the sentence."""
    for path in (tmp_path / "missing.duckdb", tmp_path):
        with pytest.raises(StoreError) as caught:
            tk.open(path, read_only=True)
        assert caught.value.path == path


def test_a_refused_statement_is_told() -> None:
    """Who shows the message can show the statement beside it."""
    with tk.open(None) as store, pytest.raises(QueryError) as caught:
        store.sql("SELECT nothing_of_that_name")
    assert caught.value.statement == "SELECT nothing_of_that_name"


@pytest.mark.parametrize(
    ("ask", "option", "value"),
    [
        (lambda store: store.tail("bogus"), "metric", "bogus"),
        (lambda store: store.tail("e2e", quantile=1.5), "quantile", "1.5"),
        (lambda store: store.tail("e2e", outcome="lost"), "outcome", "lost"),
        (lambda store: store.tail("e2e", where="random() < 1"), "where", "random() < 1"),
        (lambda store: store.tail("e2e", baseline=" "), "baseline", None),
        (lambda store: store.goodput(slo="ttft=soon"), "slo", "soon"),
        (lambda store: store.goodput(slo="ttft=2s,ttft=3s"), "slo", "ttft=2s,ttft=3s"),
        (lambda store: store.metrics("nothing.of.that.name"), "metric", "nothing.of.that.name"),
        (lambda store: store.query("no/such"), "query", "no/such"),
        (lambda store: store.perfetto(trace_id="zz"), "trace_id", "zz"),
    ],
)
def test_what_was_asked_wrongly_is_an_attribute(ask: Callable[[tk.Store], object], option: str, value: object) -> None:
    """A program, or a form, can mark the field at fault."""
    with tk.open(None) as store, pytest.raises(UsageError) as caught:
        ask(store)
    assert caught.value.facts == {"option": option, "value": value}
