"""Write the reference pages from their one source: comments in the store, stages, query files, command help.

python docs/generate.py           writes docs/store.md, docs/stages.md and docs/command-line.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import polars as pl

from tracekit import queries
from tracekit.cli import COMMANDS, commands
from tracekit.store import Database

DOCS = Path(__file__).resolve().parent

STORE_HEAD = """# The trace store

One DuckDB file. Query the views below with `tracekit query`, `tk.open(...).sql(...)` or, while no server holds the
file, with the duckdb shell. All times are nanoseconds since the Unix epoch; intervals are half-open. Ids are lower-case
hexadecimal text. Attributes are `VARIANT`: `span_attributes['gen_ai.request.model']`. The tables underneath, with
numeric ids, are in the schema `base`.

This page is generated from the comments in the store itself (`FROM duckdb_columns()`).
"""

STAGES_HEAD = """# Stages

A stage is where time can go, in the field's words. Its owner can do something about it; `unattributed` has none.
Parts that an exporter cannot tell apart are shown as `unsplit(a|b)`. Traces of other software get `service:operation`
as stages, and `edge:caller->callee` for the way between two services.

This page is generated from the table `stages` and the mapping files in `queries/stages/`, one an exporter. What they
read (`batch_spans`, `batch_calls`, ...) is made by the files in `queries/units/`, which say so at their top.
"""

COMMANDS_HEAD = """# Command line

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a check
did not hold. `TRACEKIT_DB` stands for `--db`. `TRACEKIT_DEBUG=1` shows tracebacks.

This page is generated from `tracekit COMMAND --help`.
"""


def store_page(database: Database) -> str:
    """Every view with its comment, and its columns with type and comment."""
    views = database.query("explore/views")
    columns = database.query("explore/view_columns")
    parts = [STORE_HEAD]
    for name, comment in views.iter_rows():
        rows = columns.filter(pl.col("view_name") == name).drop("view_name")
        parts.append(f"## {name}\n\n{comment}\n\n{_markdown(rows)}\n")
    return "\n".join(parts)


def stages_page(database: Database) -> str:
    """The taxonomy as a table, then what each mapping file says about itself."""
    taxonomy = database.sql("SELECT stage, windows, layer, owner, description FROM stages ORDER BY unit_kind, stage")
    mappings = [f"### queries/{name}.sql\n\n{_header(queries.text(name))}\n" for name in queries.names("stages")]
    return "\n".join([STAGES_HEAD, _markdown(taxonomy), "\n## How spans are mapped\n", *mappings])


def commands_page() -> str:
    """The help text of the command and of each of its commands."""
    parts = [COMMANDS_HEAD]
    context = click.Context(commands, info_name="tracekit", terminal_width=100, **commands.context_settings)
    parts.append(f"```text\n{commands.get_help(context)}\n```\n")
    for name, command in sorted((one.name, one.load()) for one in COMMANDS):
        inner = click.Context(command, info_name=name, parent=context, terminal_width=100)
        parts.append(f"## tracekit {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    with Database.open(None) as database:
        made: dict[str, Callable[[], str]] = {
            "store.md": lambda: store_page(database),
            "stages.md": lambda: stages_page(database),
            "command-line.md": commands_page,
        }
        return {DOCS / name: make() for name, make in made.items()}


def _markdown(frame: pl.DataFrame) -> str:
    rows = [frame.columns, ["---"] * frame.width, *frame.iter_rows()]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("|", "\\|")


def _header(sql: str) -> str:
    """The comment at the top of a query file, as a code block."""
    lines = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").removeprefix(" "))
    return "```text\n" + "\n".join(lines).strip() + "\n```"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        click.echo(path, err=True)
