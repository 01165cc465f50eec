"""Imports point one way, and each outer part uses only what it is meant to."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What each part may import from tracekit, beside itself.
FOUNDATION = {"errors", "kernels", "queries", "schema"}
ALLOWED = {
    "errors": set(),
    "kernels": set(),
    "queries": set(),
    "schema": {"errors"},
    "otlp": FOUNDATION,
    "importers": FOUNDATION,
    "store": FOUNDATION | {"otlp"},
    "ingest": FOUNDATION | {"otlp", "importers", "store"},
    "partition": FOUNDATION,
    "stages": FOUNDATION | {"store", "partition"},
    "receiver": FOUNDATION | {"otlp", "store", "ingest", "stages"},
    "analysis": FOUNDATION | {"otlp", "store", "partition", "stages"},
    "wording": FOUNDATION | {"otlp", "analysis"},
    "charts": FOUNDATION | {"analysis", "wording"},
    "output": FOUNDATION,
    "report": FOUNDATION | {"output", "store", "stages", "analysis", "wording", "ingest"},
    "remote": FOUNDATION,
    "api": FOUNDATION | {"output", "store", "stages", "analysis", "wording", "ingest", "report", "remote"},
    "serving": FOUNDATION | {"store", "ingest", "stages", "receiver", "remote", "api"},
    "cli": FOUNDATION | {"output", "report", "api", "store", "receiver", "serving"},
}


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
    """`errors, schema` ◀ `otlp, store` ◀ `stages` ◀ `analysis` ◀ `wording, report, charts` ◀ `cli`."""
    offending = {
        f"{path.relative_to(ROOT)}: {reached}"
        for path in (ROOT / "tracekit").rglob("*.py")
        if part_of(path) == part
        for reached in parts_reached(path) - ALLOWED[part] - {part}
    }
    assert not offending


def test_every_part_has_a_layer() -> None:
    """A new module must say where it stands."""
    parts = {part_of(path) for path in (ROOT / "tracekit").rglob("*.py")}
    assert parts - {"__init__", "__main__", "_bundled"} <= set(ALLOWED)


def test_the_app_uses_the_public_api_only() -> None:
    """Pages see `import tracekit`, its charts, its words and its vocabulary, nothing behind them."""
    offending = {
        f"{path.relative_to(ROOT)}: {reached}"
        for path in (ROOT / "app").rglob("*.py")
        for reached in parts_reached(path) - {"api", "charts", "wording", "schema"}
    }
    assert not offending


def test_generators_never_use_the_analysis() -> None:
    """What is scored must not help to make the question."""
    offending = {
        f"{path.relative_to(ROOT)}: {reached}"
        for path in (ROOT / "generators").rglob("*.py")
        for reached in parts_reached(path) - {"errors"}
    }
    assert not offending
