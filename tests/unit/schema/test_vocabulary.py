"""Every code is written in `tracekit.schema` and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tracekit.errors import UsageError
from tracekit.schema import (
    METRICS,
    OUTCOMES,
    STAGES,
    UNATTRIBUTED,
    Metric,
    ServingStage,
    UnitKind,
    Window,
    exchanged,
    exchanged_type,
    is_edge,
    is_unsplit,
    parts_of,
)
from tracekit.store import Database

ROOT = Path(__file__).resolve().parents[3]
_CODE = re.compile(r"(client|gw|net|fe|eng|kv|out|lifecycle|job|step)\.[a-z][a-z_]+")
# Columns and files that look like codes and are none.
_OTHER_NAMES = re.compile(r"\b(step|job)\.(sql|id)\b")
_ROOMS = ("analysis", "wording", "charts", "report", "output.py", "cli", "remote", "api.py")


def python_files() -> Iterator[Path]:
    """The rooms that speak about stages, and the app."""
    for room in _ROOMS:
        path = ROOT / "tracekit" / room
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))
    yield from sorted((ROOT / "app").rglob("*.py"))


def string_constants(path: Path) -> Iterator[str]:
    """Every string of a file that is no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_stage_is_spelled_a_second_time_in_python() -> None:
    """Code names a stage by its member of the vocabulary."""
    codes = {code for code in STAGES if "." in code} | {UNATTRIBUTED}
    spelled = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in python_files()
        for text in string_constants(path)
        if text in codes
    }
    assert not spelled


@pytest.mark.parametrize("folder", ["tracekit", "queries", "app"])
def test_every_stage_that_is_named_anywhere_exists(folder: str) -> None:
    """Codes in the mappings of exporters, in other statements and in rooms below are those of the vocabulary."""
    unknown = set()
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix == ".sql":
            quoted = re.findall(r"'([^'\n]*)'", path.read_text(encoding="utf-8"))
        elif path.suffix == ".py":
            quoted = list(string_constants(path))
        else:
            continue
        unknown |= {
            f"{path.relative_to(ROOT)}: {text}" for text in quoted if _CODE.fullmatch(text) and text not in STAGES
        }
    assert not {text for text in unknown if not _OTHER_NAMES.search(text)}


def test_the_table_of_stages_holds_the_vocabulary() -> None:
    """Each code once, with its kind of unit and windows that exist."""
    with Database.open(None) as database:
        rows = database.sql("SELECT stage, unit_kind, windows FROM stages").rows()
    assert sorted(stage for stage, _, _ in rows) == sorted(STAGES)
    assert {kind for _, kind, _ in rows} <= {*UnitKind, "any", "none"}
    assert {window for _, _, windows in rows for window in (windows or "ttft").split(",")} <= set(Window)


def test_metrics_are_columns_of_units() -> None:
    """What is defined is what the store has, and what annotations allow."""
    with Database.open(None) as database:
        columns = database.sql("SELECT * FROM units").columns
    assert {metric.column for metric in METRICS.values()} <= set(columns)
    assert {name for metric in METRICS.values() for name in metric.depends_on} <= set(columns)
    assert tuple(METRICS) == get_args(Metric)


def test_the_vocabulary_reads_as_text() -> None:
    """A member is its code, in JSON, SQL and comparisons; outcomes are plain text."""
    assert f"{ServingStage.ENG_QUEUE}" == "eng.queue" == ServingStage.ENG_QUEUE
    assert OUTCOMES[0] == "ok"
    assert type(OUTCOMES[0]) is str


def test_stages_that_cannot_be_told_apart() -> None:
    """`unsplit(a|b)` stands for both, an edge for the way between two services."""
    assert parts_of("unsplit(eng.queue|out.stream)") == ["eng.queue", "out.stream"]
    assert parts_of("eng.queue") == ["eng.queue"]
    assert (is_unsplit("unsplit(a|b)"), is_unsplit("eng.queue")) == (True, False)
    assert (is_edge("edge:a->b"), is_edge("eng.queue")) == (True, False)


def test_a_name_on_the_wire_belongs_to_one_type() -> None:
    """Registering a type again changes nothing, another type under its name is refused."""
    first, second = type("First", (), {}), type("Second", (), {})
    exchanged("vocabulary-test")(first)
    exchanged("vocabulary-test")(first)
    assert exchanged_type("vocabulary-test") is first
    with pytest.raises(UsageError, match="two types are registered under 'vocabulary-test'"):
        exchanged("vocabulary-test")(second)
