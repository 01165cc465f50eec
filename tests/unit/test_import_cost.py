"""What a command loads before it does anything: counted, since time on a shared machine says little."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import tracekit
from tests.unit.otlp.documents import span, traces
from tracekit.cli import COMMANDS
from tracekit.cli.deferred import DeferredCommand

HEAVY = {
    "altair", "duckdb", "google.protobuf", "grpc", "numba", "numpy", "opentelemetry", "pandas", "polars", "pyarrow",
    "starlette", "streamlit", "uvicorn", "zstandard",
}  # fmt: skip
"""Libraries that take from 30 ms to seconds to import."""

# 61 and some 110 where this was written: CPython 3.11 itself brings about 60, click and argument parsing 40 more.
IMPORT_CEILING = 90
HELP_CEILING = 180


def modules_after(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter holds after a statement."""
    program = f"import sys\n{statement}\nprint('\\n'.join(['', 'MODULES', *sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("\nMODULES\n")[2].split())


def test_importing_the_package_loads_no_library() -> None:
    """`import tracekit` is free until a store is opened."""
    loaded = modules_after("import tracekit; tracekit.TracekitError; tracekit.__version__")
    assert not loaded & HEAVY
    assert len(modules_after("import tracekit")) < IMPORT_CEILING


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_says_what_it_can_without_loading_a_library(option: str) -> None:
    """Help and version answer from click alone, and reach no command's module."""
    loaded = modules_after(f"from tracekit.cli import commands\ncommands.main([{option!r}], standalone_mode=False)")
    assert "click" in loaded
    assert not loaded & HEAVY
    assert len(loaded) < HELP_CEILING


def test_the_public_names_come_when_they_are_used() -> None:
    """A store can be opened by the one name that users know, and `dir` tells all of them."""
    assert set(tracekit.__all__) | {"__version__"} <= set(dir(tracekit))
    assert tracekit.__version__ == version("tracekit-stages")
    with pytest.raises(AttributeError, match="no attribute 'stroe'"):
        tracekit.stroe  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("deferred", COMMANDS, ids=lambda one: one.name)
def test_the_list_of_commands_says_what_each_says_of_itself(deferred: DeferredCommand) -> None:
    """The summaries in the list are stated without loading the commands, so they are compared here."""
    assert deferred.get_short_help_str(200) == deferred.load().get_short_help_str(200)


def test_a_command_converts_for_arrow_without_pandas(tmp_path: Path) -> None:
    """pyarrow imports it, a third of a second, to ask whether what it is given is pandas' own."""
    (tmp_path / "spans.jsonl").write_bytes(traces(span()))
    arguments = ["ingest", str(tmp_path / "spans.jsonl"), "--db", str(tmp_path / "x.duckdb"), "--json"]
    command = f"commands.main({arguments!r}, standalone_mode=False)"
    loaded = modules_after(f"from tracekit.cli import commands\ntry:\n    {command}\nexcept SystemExit:\n    pass")
    assert {"pyarrow", "duckdb"} <= loaded
    assert "pandas.core" not in loaded


def test_pandas_is_there_for_whoever_wants_it_later() -> None:
    """What the command spares itself is not taken from others in the process."""
    statement = """
from tracekit.cli.starting import prepare
prepare()
import pyarrow as pa
assert type(pa.table({"a": [1, None]}).to_pandas()).__module__.startswith("pandas")
import pandas as pd
assert pa.array(pd.Series([1.5, None])).null_count == 1
"""
    assert "pandas.core" in modules_after(statement)


def test_pages_that_a_server_shows_convert_frames_of_pandas() -> None:
    """The command `serve` spares itself pandas, too, until the first page is drawn."""
    statement = f"""
from tracekit.cli.starting import prepare
prepare()
assert "pandas.core" not in sys.modules
sys.path.insert(0, {str(Path(tracekit.__file__).parents[1] / "app")!r})
import investigation
import pandas as pd, pyarrow as pa
assert pa.Table.from_pandas(pd.DataFrame({{"a": [1.5, None]}}))["a"].null_count == 1
assert pa.array(pd.Series([1.5, None])).null_count == 1
"""
    assert "investigation" in modules_after(statement)
