"""The command `tracekit`: thin commands over the Python API.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
3 a check did not hold.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys

import click

from tracekit.cli import answers, data, failures, generate, goodput, pages, serve
from tracekit.errors import TracekitError, UsageError

USAGE_EXIT_CODE = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(importlib.metadata.version("tracekit-stages"), prog_name="tracekit")
def commands() -> None:
    """Which stage made the slow ones slow? Exact latency attribution from OpenTelemetry data.

    \b
    Examples:
      tracekit demo                                   sample traces, a report, the app
      tracekit ingest traces.jsonl other/ metrics.pb  files into tracekit.duckdb
      tracekit tail --metric ttft                     the slowest 1 % against the middle
      tracekit goodput                                where paid accelerator time went
      tracekit failures                               what failed first
      tracekit query "SELECT count(*) FROM spans"     plain SQL
      tracekit serve                                  receive OTLP, with the app beside it
      tracekit app                                    the investigation app
      tracekit generate slow_worker --out slow        telemetry whose truth is known
    """


_PARTS = (data, answers, goodput, failures, pages, generate, serve)

for command in (command for part in _PARTS for command in part.COMMANDS):
    commands.add_command(command)


def main() -> None:
    """Run the command line; errors that tracekit knows become one line on standard error."""
    try:
        commands(prog_name="tracekit")
    except TracekitError as error:
        if os.environ.get("TRACEKIT_DEBUG") == "1":
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(USAGE_EXIT_CODE if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        # The reader of our output (head, less) is gone: nothing is left to say.
        sys.stdout = None
        sys.exit(0)
