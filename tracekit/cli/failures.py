"""The command failures: what failed first."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit import output, report
from tracekit.cli.options import database_option, output_options, where_option
from tracekit.cli.stores import opened


@click.command()
@click.option("--job", metavar="JOB", help="Only this job (default: all).")
@click.option("--price", type=click.FloatRange(0), help="Price of one accelerator for one hour, for costs.")
@where_option
@database_option
@output_options
def failures(
    job: str | None,
    price: float | None,
    where: str | None,
    database: Path,
    output_format: str,
    output_path: Path | None,
) -> None:
    """What failed first, and who only followed: one first cause a failure, with what proves it and what it cost.

    \b
    Examples:
      tracekit failures
      tracekit failures --job pretrain-1 --json
    """
    with opened(database, read_only=True) as store:
        answer = store.failures(job=job, price=price, where=where)
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)


COMMANDS = (failures,)
