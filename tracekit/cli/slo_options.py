"""Options that say which requests are good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tracekit.analysis import SloSet, slo_file
from tracekit.errors import UsageError

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


def asked_slo(slo: str | None, slo_path: Path | None) -> str | SloSet | None:
    """What the options say is good; None for nothing. Raises `UsageError` where both say something."""
    if slo is not None and slo_path is not None:
        raise UsageError("say once what is good: --slo ttft=2s,tpot=50ms or --slo-file FILE")
    return slo if slo_path is None else slo_file(slo_path)
