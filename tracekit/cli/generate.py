"""The command that makes synthetic telemetry whose truth is known: generate."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracekit import queries
from tracekit.errors import UsageError

if TYPE_CHECKING:
    from generators.scenarios import Scenario


@click.command()
@click.argument("scenario", required=False, metavar="SCENARIO")
@click.option("--list", "wants_list", is_flag=True, help="Explain every scenario, or every parameter of SCENARIO.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the files.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Same seed, same bytes.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter; may be repeated.")
@click.option("--endpoint", metavar="URL", help="Send to this OTLP/HTTP endpoint instead of writing the telemetry.")
def generate(
    scenario: str | None,
    wants_list: bool,
    out: Path | None,
    seed: int,
    settings: tuple[str, ...],
    endpoint: str | None,
) -> None:
    """Make the telemetry of a workload whose truth is known.

    SCENARIO is a name from --list or a TOML file of the same form. The folder gets traces.jsonl,
    metrics.jsonl, logs.jsonl where anything was logged, and truth.json: what was injected, and the
    same run without it.

    \b
    Examples:
      tracekit generate --list
      tracekit generate slow_worker --out slow
      tracekit generate slow_worker --out slow --set fault.step_factor=5 --set emit.dialect=vllm
      tracekit generate healthy --out skewed --set corrupt.skew_ms=5
      tracekit generate healthy --endpoint http://localhost:4318
    """
    make_importable()
    if wants_list:
        click.echo(_listing(scenario))
        return
    if scenario is None:
        raise UsageError("name a scenario; `tracekit generate --list` explains them", option="scenario")
    if out is None and endpoint is None:
        raise UsageError("say where to: --out DIR or --endpoint URL")
    from generators.parameters import assignments

    truth = generator()(scenario, seed=seed, overrides=assignments(settings), out=out, endpoint=endpoint)
    units = len(truth.content["units"])
    click.echo(f"{truth.scenario}: {units} units, {truth.span_count} spans, seed {seed}", err=True)


def generator() -> Callable[..., Any]:
    """The function that runs a scenario; it needs the OpenTelemetry SDK, which answering does not."""
    try:
        from generators.generate import generate as run
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("opentelemetry"):
            raise
        raise UsageError(f"generating needs {error.name}: install tracekit-stages with its extra 'generate'") from error
    return run


def _listing(scenario: str | None) -> str:
    """All scenarios, or the parameters of one."""
    from generators import scenarios

    if scenario is None:
        return "\n\n".join(_paragraph(scenarios.load(name)) for name in scenarios.names())
    from generators.generate import listed_parameters

    return listed_parameters(scenarios.load(scenario))


def _paragraph(scenario: Scenario) -> str:
    lines = (
        f"{scenario.name} ({scenario.model}): {scenario.title}",
        scenario.what_happens,
        f"Right answer: {scenario.right_answer}",
    )
    return "\n".join([lines[0], *(click.wrap_text(line, 100, "    ", "    ") for line in lines[1:])])


def make_importable() -> None:
    """Put the folder that holds `generators` on the import path: the checkout or the wheel's files."""
    parent = str(queries.folder("generators").parent)
    if parent not in sys.path:
        sys.path.append(parent)


COMMANDS = (generate,)
