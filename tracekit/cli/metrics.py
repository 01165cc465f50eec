"""The command that shows counters, gauges and histograms: metrics."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit import output, report
from tracekit.api import Store
from tracekit.cli.limits import parsed_seconds
from tracekit.cli.options import database_option, output_options
from tracekit.schema import METRIC_GROUPS


@click.command()
@click.argument("metric", required=False)
@click.option(
    "--by", multiple=True, type=click.Choice(METRIC_GROUPS), default=("host_name",), show_default=True,
    help="What to tell apart; may be repeated.",
)  # fmt: skip
@click.option("--every", metavar="AGE", help="Length of a window, for example 10s or 5m (default: all in one).")
@database_option
@output_options
def metrics(
    metric: str | None, by: tuple[str, ...], every: str | None,
    database: Path, output_format: str, output_path: Path | None,
) -> None:  # fmt: skip
    """Counters, gauges and histograms over time, under one set of names whoever sent them; without METRIC a list.

    METRIC is a name of the list (kv_cache.usage) or the sender's own (vllm:kv_cache_usage_perc). Counters that begin
    again, deltas and cumulative series are told alike. Quantiles of histograms are estimates; they certainly lie
    within their _low and _high.

    \b
    Examples:
      tracekit metrics
      tracekit metrics kv_cache.usage --every 10s
      tracekit metrics server.ttft --by model --json
    """
    with Store.open(database, read_only=True) as store:
        answer = store.metrics(metric, by=by, every_s=parsed_seconds(every))
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)


COMMANDS = (metrics,)
