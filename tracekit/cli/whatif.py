"""The command that replays steps under a change: whatif."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit import output, report
from tracekit.cli.options import database_option, output_options
from tracekit.cli.stores import opened


@click.command()
@click.argument("change", metavar="CHANGE")
@click.option("--job", metavar="JOB", help="The job whose steps are replayed (default: the one with the most steps).")
@click.option("--metric", default="step", show_default=True, type=click.Choice(["step"]), help="What would change.")
@database_option
@output_options
def whatif(
    change: str, job: str | None, metric: str, database: Path, output_format: str, output_path: Path | None
) -> None:
    """What the steps of a training job would take under a change, by replay of what each operation waited for.

    CHANGE is one of without=rank:N[,N...], without=host:NAME, without=operation:NAME, without=stragglers (every rank as
    fast as its peers) and without=imbalance (every pipeline stage as long as the median one).

    \b
    Examples:
      tracekit whatif without=rank:21
      tracekit whatif without=stragglers --job llama-405b --json
    """
    with opened(database, read_only=True) as store:
        answer = store.whatif(change, job=job)
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)


COMMANDS = (whatif,)
