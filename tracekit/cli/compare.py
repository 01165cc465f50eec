"""The command that compares two groups of requests: compare."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from tracekit import output, report
from tracekit.analysis import CompareAnswer
from tracekit.api import Store
from tracekit.cli.options import database_option, output_options, where_option
from tracekit.cli.stores import opened as opened_store
from tracekit.errors import UsageError
from tracekit.foreign import terminal
from tracekit.warehouse import is_warehouse

CHECK_FAILED_EXIT_CODE = 3
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")
# No condition, window or version begins or ends so.
_PATH = re.compile(r"(?:\.{0,2}|~)/.*|[^'\"]*\.duckdb", re.DOTALL)


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--slo", metavar="TERMS|PRESET", help="Compare goodput by these limits too, for example ttft=2s.")
@click.option(
    "--fail-on-regression", "limit", metavar="SHARE",
    help="Exit with 3 where anything is worse beyond chance by at least this share, for example 5%.",
)  # fmt: skip
@where_option
@database_option
@output_options
def compare(
    before: str, after: str, slo: str | None, limit: str | None, where: str | None,
    database: Path, output_format: str, output_path: Path | None,
) -> None:  # fmt: skip
    """What changed from A to B, stage by stage, at the same mix of requests.

    A and B are each a store (a file), a window FROM/UNTIL of ISO times in UTC, version:V or host:H of what served
    the requests, or a condition over the view `units`.

    \b
    Examples:
      tracekit compare version:1.4 version:1.5
      tracekit compare 2026-01-01T00:00Z/2026-01-01T01:00Z 2026-01-02T00:00Z/2026-01-02T01:00Z
      tracekit compare yesterday.duckdb today.duckdb --slo ttft=2s --fail-on-regression 5%
      tracekit compare "model = 'a'" "model = 'b'" --json
    """
    share = None if limit is None else _parsed_share(limit)
    answer = _answer(before, after, database, slo=slo, where=where)
    output.write(report.compare_output(answer), output_format=output_format, path=output_path)
    if share is None:
        return
    for line in answer.regressions(share):
        click.echo(f"Regression: {terminal(line)}", err=True)
    if answer.regressions(share):
        sys.exit(CHECK_FAILED_EXIT_CODE)


def _answer(before: str, after: str, database: Path, *, slo: str | None, where: str | None) -> CompareAnswer:
    with ExitStack() as opened:
        stores = [_opened(opened, side) for side in (before, after)]
        conditions = [None if store else side for store, side in zip(stores, (before, after), strict=True)]
        if all(stores):
            old, new = stores
        else:
            held = opened.enter_context(opened_store(database, read_only=True))
            old, new = (store or held for store in stores)
        assert old is not None
        assert new is not None
        other = None if old is new else old
        return new.compare(*conditions, other=other, slo=slo, where=where)


def _opened(opened: ExitStack, side: str) -> Store | None:
    """The store or warehouse that a side names, None where it names none.

    Raises `StoreError` for a path at which there is none.
    """
    path = Path(side)
    try:
        is_store = path.is_file() or is_warehouse(path)
    except OSError:
        # A condition may be longer than a name of a file can be.
        return None
    is_meant = is_store or _PATH.fullmatch(side) is not None
    return opened.enter_context(opened_store(path, read_only=True)) if is_meant else None


def _parsed_share(text: str) -> float:
    match = _SHARE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is no share; write for example 5%", option="fail_on_regression", value=text)
    return float(match[1]) / 100


COMMANDS = (compare,)
