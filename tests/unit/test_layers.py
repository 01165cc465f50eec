"""Imports point one way, and each outer part uses only what it is meant to."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What each part may import from tracekit, beside itself.
FOUNDATION = {"clickhouse", "errors", "foreign", "kernels", "objects", "queries", "schema", "stopping"}
ALLOWED = {
    "errors": set(),
    "calendar_bounds": set(),
    "foreign": set(),
    "clickhouse": set(),
    "objects": set(),
    "stopping": set(),
    "kernels": set(),
    "queries": set(),
    "schema": {"errors"},
    "records": FOUNDATION,
    "otlp": FOUNDATION | {"records"},
    "importers": FOUNDATION | {"records", "otlp"},
    "store": FOUNDATION | {"records"},
    "ingest": FOUNDATION | {"records", "otlp", "importers", "store"},
    "partition": FOUNDATION,
    "stages": FOUNDATION | {"store", "partition"},
    "warehouse": FOUNDATION | {"records", "store", "ingest", "stages"},
    "receiver": FOUNDATION | {"records", "otlp", "store", "ingest", "stages"},
    "analysis": FOUNDATION | {"records", "store", "partition", "stages"},
    "wording": FOUNDATION | {"records", "analysis"},
    "charts": FOUNDATION | {"analysis", "wording"},
    "output": FOUNDATION | {"calendar_bounds"},
    "report": FOUNDATION | {"output", "store", "stages", "analysis", "wording", "ingest"},
    "export": FOUNDATION,
    "remote": FOUNDATION,
    "api": FOUNDATION
    | {"output", "store", "stages", "analysis", "wording", "ingest", "report", "remote", "export", "warehouse"},
    "serving": FOUNDATION | {"store", "ingest", "stages", "receiver", "remote", "api"},
    "cli": FOUNDATION | {"output", "ingest", "analysis", "report", "api", "store", "receiver", "serving", "warehouse"},
}

# Inside the analysis: what each room of questions may import beside what every answer stands on (its single modules).
QUESTIONS = {
    "statistics": set(),
    "replay": set(),
    "batching": set(),
    "tail": {"statistics"},
    "requests": {"batching"},
    "compare": {"statistics", "tail", "requests"},
    "stragglers": set(),
    "jobs": {"replay", "stragglers"},
}

# Modules that outsiders may name beside their room: code that numba compiles into other code.
DOORS = {"kernels.hash_table", "kernels.unaligned", "records.attribute_keys"}


def imported_names(path: Path) -> set[str]:
    """Dotted names of everything that a file imports, absolute imports only."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer they reach"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def parts_reached(path: Path) -> set[str]:
    """The parts of tracekit that a file imports; the package itself counts as `api`."""
    reached = set()
    for name in imported_names(path):
        head, _, rest = name.partition(".")
        if head == "tracekit":
            part = rest.partition(".")[0]
            is_part = bool(part) and ((ROOT / "tracekit" / part).exists() or (ROOT / f"tracekit/{part}.py").exists())
            reached.add(part if is_part else "api")
    return reached


def part_of(path: Path) -> str:
    return path.relative_to(ROOT / "tracekit").parts[0].removesuffix(".py")


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_a_part_imports_only_the_layers_below_it(part: str) -> None:
    """`errors, schema` ◀ `records` ◀ `otlp, importers, store` ◀ `stages` ◀ `analysis` ◀ `wording, report` ◀ `cli`."""
    offending = {
        f"{path.relative_to(ROOT)}: {reached}"
        for path in (ROOT / "tracekit").rglob("*.py")
        if part_of(path) == part
        for reached in parts_reached(path) - ALLOWED[part] - {part}
    }
    assert not offending


def public_names(room: str) -> set[str]:
    """What a room's `__init__` offers, read from its `__all__` without importing it."""
    tree = ast.parse((ROOT / "tracekit" / room / "__init__.py").read_text(encoding="utf-8"))
    listed = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets)
    ]
    return set(listed[0]) if listed else set()


def rooms() -> set[str]:
    return {path.parent.name for path in (ROOT / "tracekit").glob("*/__init__.py")} - {"_bundled"}


def test_rooms_are_entered_by_their_front_door() -> None:
    """From another room comes only what its `__init__` lists, so that a room can be rearranged inside."""
    offered = {room: public_names(room) for room in rooms()}
    deep = {
        f"{part_of(path)}: {name}"
        for path in (ROOT / "tracekit").rglob("*.py")
        for name in imported_names(path)
        if name.startswith("tracekit.")
        for head, *inner in [name.split(".")[1:]]
        if head in offered and head != part_of(path)
        if inner and (len(inner) > 1 or inner[0] not in offered[head])
        if ".".join((head, inner[0])) not in DOORS
    }
    assert not deep


@pytest.mark.parametrize("room", sorted(QUESTIONS))
def test_a_question_stands_on_the_rooms_below_it(room: str) -> None:
    """A tail knows nothing of comparisons, stragglers nothing of ledgers; arithmetic knows no question."""
    reached = {
        ".".join(name.split(".")[2:3])
        for path in (ROOT / "tracekit" / "analysis" / room).glob("*.py")
        for name in imported_names(path)
        if name.startswith("tracekit.analysis.")
    }
    assert reached & set(QUESTIONS) - {room} <= QUESTIONS[room]


def test_every_room_of_the_analysis_has_a_place() -> None:
    assert {path.parent.name for path in (ROOT / "tracekit" / "analysis").glob("*/__init__.py")} == set(QUESTIONS)


def test_every_part_has_a_layer() -> None:
    """A new module must say where it stands."""
    parts = {part_of(path) for path in (ROOT / "tracekit").rglob("*.py")}
    assert parts - {"__init__", "__main__", "_bundled"} <= set(ALLOWED)


def test_the_app_uses_the_public_api_only() -> None:
    """Pages see `import tracekit`, its charts, its words and its vocabulary, nothing behind them."""
    offending = {
        f"{path.relative_to(ROOT)}: {reached}"
        for path in (ROOT / "app").rglob("*.py")
        for reached in parts_reached(path) - {"api", "charts", "foreign", "wording", "schema"}
    }
    assert not offending


def test_tables_of_the_app_cross_its_border() -> None:
    """Foreign text in a table is text: `investigation.border.dataframe` sees to that, and nobody goes around it."""
    around = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "app").rglob("*.py")
        if path.name != "border.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in ("dataframe", "table", "data_editor", "json", "write", "html")
        if isinstance(node.value, ast.Name) and node.value.id == "st"
    }
    assert not around


def test_generators_never_use_the_analysis() -> None:
    """What is scored must not help to make the question; the compiler that both share is no analysis."""
    offending = {
        f"{path.relative_to(ROOT)}: {reached}"
        for path in (ROOT / "generators").rglob("*.py")
        for reached in parts_reached(path) - {"errors", "kernels"}
    }
    assert not offending


LIGHT = ["tracekit.records", "tracekit.otlp", "tracekit.importers", "tracekit.store", "tracekit.ingest"]
HEAVY = ["numba", "llvmlite", "pandas", "google.protobuf", "tracekit.otlp.wire", "tracekit.otlp.tables"]


def test_importing_the_rooms_of_records_loads_no_compiler_and_no_decoder() -> None:
    """A command that only asks waits for neither."""
    # The package's own `__init__` is no part of this.
    script = (
        "import sys, types; sys.modules['tracekit'] = package = types.ModuleType('tracekit')\n"
        f"package.__path__ = [{str(ROOT / 'tracekit')!r}]\n"
        f"import {', '.join(LIGHT)}\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
