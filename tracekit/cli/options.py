"""Options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tracekit.output import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])


def database_option(command: Command) -> Command:
    """`--db`: what is asked, for which the environment variable TRACEKIT_DB stands."""
    return _database(command, "The trace store (a DuckDB file), or a warehouse: its folder, or s3://BUCKET/PREFIX.")


def store_option(command: Command) -> Command:
    """`--db FILE`: the store that a command writes to; warehouses are filled by `build`."""
    return _database(command, "The trace store (a DuckDB file).")


def _database(command: Command, told: str) -> Command:
    return click.option(
        "--db",
        "database",
        envvar="TRACEKIT_DB",
        default="tracekit.duckdb",
        show_default=True,
        type=click.Path(path_type=Path),
        help=told,
    )(command)


def output_options(command: Command) -> Command:
    """`--format`, `--json` and `-o FILE`: how and where the answer is written."""
    command = click.option(
        "-o",
        "--output",
        "output_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write to this file instead of standard output.",
    )(command)
    command = click.option("--json", "output_format", flag_value="json", help="Short for --format json.", type=str)(
        command
    )
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to write the answer.",
    )(command)


def where_option(command: Command) -> Command:
    """`--where SQL`: which units the answer is about."""
    return click.option(
        "--where",
        metavar="SQL",
        help="A condition over the view `units`, for example \"attributes['scenario'] = 'overload'\".",
    )(command)
