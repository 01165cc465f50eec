"""Commands about the outcomes of requests: goodput, failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tracekit import output
from tracekit.analysis import Mode, RequestGoodput, slo_file
from tracekit.api import Store
from tracekit.cli.options import database_option, output_options, where_option
from tracekit.errors import UsageError
from tracekit.report.requests import request_failures_output, request_goodput_output

Command = TypeVar("Command", bound=Callable[..., Any])


def slo_options(command: Command) -> Command:
    """`--slo`, `--slo-file`, `--objective` and `--mode`: what is good, and by whose rules."""
    slo = click.option(
        "--slo", metavar="TERMS|PRESET",
        help="Limits such as ttft=2s,tpot=50ms,e2e=30s, or an MLPerf preset such as llama2-70b-interactive.",
    )  # fmt: skip
    file = click.option(
        "--slo-file", "slo_path", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A TOML file with limits for several classes of requests.",
    )  # fmt: skip
    objective = click.option("--objective", type=float, help="Share that should be good (default: 0.99).")
    mode = click.option(
        "--mode", default="tracekit", show_default=True, type=click.Choice(["tracekit", "vllm", "aiperf"]),
        help="Whose rules count: our own, those of `vllm bench serve --goodput`, or AIPerf's.",
    )  # fmt: skip
    return slo(file(objective(mode(command))))


def asked_goodput(
    store: Store, *, slo: str | None, slo_path: Path | None, where: str | None, mode: Mode, objective: float | None
) -> RequestGoodput:
    """The requests of a store judged by what the options say. Raises `UsageError` without exactly one SLO."""
    if (slo is None) == (slo_path is None):
        raise UsageError("say what is good: --slo ttft=2s,tpot=50ms or --slo-file FILE, one of them")
    goal = slo if slo is not None else slo_file(slo_path or Path())
    return store.request_goodput(goal, where=where, mode=mode, objective=objective)


@click.command()
@slo_options
@where_option
@database_option
@output_options
def goodput(
    slo: str | None, slo_path: Path | None, objective: float | None, mode: Mode, where: str | None,
    database: Path, output_format: str, output_path: Path | None,
) -> None:  # fmt: skip
    """How much of what clients asked for was good, and what the rest was lost to.

    Every request is good or in exactly one bucket; late ones are shared to the stages that made them late.

    \b
    Examples:
      tracekit goodput --slo ttft=2s,tpot=50ms,e2e=30s
      tracekit goodput --slo llama3.1-8b-interactive --where "model = 'llama-3.1-8b'"
      tracekit goodput --slo-file slo.toml --json
    """
    with Store.open(database, read_only=True) as store:
        answer = asked_goodput(store, slo=slo, slo_path=slo_path, where=where, mode=mode, objective=objective)
    output.write(request_goodput_output(answer), output_format=output_format, path=output_path)


@click.command()
@where_option
@database_option
@output_options
def failures(where: str | None, database: Path, output_format: str, output_path: Path | None) -> None:
    """Which requests failed, what failed first, and what belongs together.

    \b
    Examples:
      tracekit failures
      tracekit failures --where "model = 'llama-3.1-8b'" --json
    """
    with Store.open(database, read_only=True) as store:
        answer = store.request_failures(where=where)
    output.write(request_failures_output(answer), output_format=output_format, path=output_path)


COMMANDS = (goodput, failures)
