"""The command that replays steps or requests under a change: whatif."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit import output, report
from tracekit.analysis import Answer, ServingChange
from tracekit.api import Store
from tracekit.cli.options import database_option, output_options, where_option
from tracekit.cli.stores import opened
from tracekit.errors import UsageError


@click.command()
@click.argument("changes", metavar="CHANGE...", nargs=-1, required=True)
@click.option("--job", metavar="JOB", help="The job whose steps are replayed (default: the one with the most steps).")
@click.option(
    "--metric", type=click.Choice(["step", "ttft", "tpot", "e2e"]),
    help="What would change (default: step for a job, ttft for requests).",
)  # fmt: skip
@click.option(
    "--quantile", default=0.99, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Of requests.",
)  # fmt: skip
@click.option("--baseline", metavar="SQL", help="Requests that say what is normal, for normal=STAGE.")
@click.option(
    "--slo", metavar="TERMS|PRESET", help="Limits such as ttft=2s,tpot=50ms: how many requests would meet them."
)
@where_option
@database_option
@output_options
def whatif(
    changes: tuple[str, ...], job: str | None, metric: str | None, quantile: float, baseline: str | None,
    slo: str | None, where: str | None, database: Path, output_format: str, output_path: Path | None,
) -> None:  # fmt: skip
    """What the steps of a training job, or requests, would take under a change, by replay.

    For a job CHANGE is one of without=rank:N[,N...], without=host:NAME, without=operation:NAME, without=stragglers
    (every rank as fast as its peers) and without=imbalance (every pipeline stage as long as the median one).

    For requests CHANGE is one or more of replicas=+N (or -N: engines more or fewer), batch=N (sequences that an engine
    runs at most), normal=STAGE (no request takes longer there than normal) and without=prefill_interference (prompts
    are prefilled beside the decode steps). The engines' queues and batches are replayed step by step from arrivals and
    sizes; what the replay without a change is wrong by is part of the bound.

    \b
    Examples:
      tracekit whatif without=rank:21
      tracekit whatif without=stragglers --job llama-405b --json
      tracekit whatif replicas=+1 --metric ttft --slo ttft=500ms,tpot=50ms
      tracekit whatif batch=64 --metric tpot --where "model = 'llama-3.1-8b'"
      tracekit whatif normal=gw.auth --baseline "version = '1.4'"
    """
    is_serving = any(map(ServingChange.is_one, changes))
    with opened(database, read_only=True) as store:
        if is_serving:
            _refuse(metric == "step" or job is not None, "changes of serving", "--metric step and --job")
            options = {"quantile": quantile, "where": where, "baseline": baseline, "slo": slo}
            answer: Answer = store.whatif_requests(*changes, metric=metric or "ttft", **options)  # type: ignore[arg-type]
        else:
            given = metric not in (None, "step") or any(value is not None for value in (where, baseline, slo))
            _refuse(given, "steps of a job", "--metric ttft, tpot or e2e, --where, --baseline and --slo")
            answer = _of_job(store, changes, job)
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)


def _of_job(store: Store, changes: tuple[str, ...], job: str | None) -> Answer:
    if len(changes) > 1:
        raise UsageError("steps of a job are replayed under one change at a time; ask twice")
    return store.whatif(changes[0], job=job)


def _refuse(is_given: bool, what: str, options: str) -> None:
    if is_given:
        raise UsageError(f"{what} cannot be replayed with {options}; leave them out")


COMMANDS = (whatif,)
