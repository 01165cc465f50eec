"""The command goodput: where paid time went."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit import output, report
from tracekit.analysis import DEVICES, PRECISIONS, Mode
from tracekit.cli.options import database_option, output_options, where_option
from tracekit.cli.slo_options import asked_slo, slo_options
from tracekit.cli.stores import opened


@click.command()
@click.option("--job", metavar="JOB", help="Only this job (default: all).")
@click.option("--price", type=click.FloatRange(0), help="Price of one accelerator for one hour, for costs.")
@click.option(
    "--flops-per-token", type=click.FloatRange(0, min_open=True),
    help="FLOPs of forward and backward for one token, for MFU.",
)  # fmt: skip
@click.option("--device", type=click.Choice(DEVICES, case_sensitive=False), help="Accelerator, for its peak in MFU.")
@click.option("--precision", type=click.Choice(PRECISIONS), default="bf16", show_default=True, help="Of the peak.")
@slo_options
@where_option
@database_option
@output_options
def goodput(
    job: str | None, price: float | None, flops_per_token: float | None, device: str | None, precision: str,
    slo: str | None, slo_path: Path | None, objective: float | None, mode: Mode, where: str | None,
    database: Path, output_format: str, output_path: Path | None,
) -> None:  # fmt: skip
    """Where paid accelerator time went: the exact ledger of training jobs, by leaf, owner and cause.

    With --slo or --slo-file also requests: each is good or in exactly one bucket, and late ones are shared to the
    stages that made them late.

    \b
    Examples:
      tracekit goodput
      tracekit goodput --slo ttft=2s,tpot=50ms,e2e=30s
      tracekit goodput --slo llama3.1-8b-interactive --where "model = 'llama-3.1-8b'"
      tracekit goodput --job pretrain-1 --price 2.50
      tracekit goodput --flops-per-token 2.4e12 --device h100 --json
    """
    with opened(database, read_only=True) as store:
        answer = store.goodput(
            job=job, price=price, flops_per_token=flops_per_token, device=device, precision=precision,
            slo=asked_slo(slo, slo_path), where=where, mode=mode, objective=objective,
        )  # fmt: skip
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)


COMMANDS = (goodput,)
