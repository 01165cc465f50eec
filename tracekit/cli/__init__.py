"""The command `tracekit`: thin commands over the Python API.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage,
3 a check did not hold.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

import click

from tracekit.cli.deferred import DeferredCommand
from tracekit.errors import TracekitError, UsageError
from tracekit.foreign import terminal

__all__ = ["COMMANDS", "commands", "main"]

USAGE_EXIT_CODE = 2

COMMANDS = (
    DeferredCommand("app", "pages", "Open the investigation app on trace stores, on this machine only (127.0.0.1)."),
    DeferredCommand("build", "build", "Build a warehouse of Parquet files: what one file no longer holds."),
    DeferredCommand("compare", "compare", "What changed from A to B, stage by stage, at the same mix of requests."),
    DeferredCommand(
        "demo",
        "demo",
        "Ingest the sample traces, print the report, open the app on them and on an incident of each kind.",
    ),
    DeferredCommand("export", "export", "Write spans for other tools: a trace, a training step, or a range of time."),
    DeferredCommand(
        "failures",
        "failures",
        "What failed first, and who only followed: one first cause a failure, with what proves it and what it cost.",
    ),
    DeferredCommand("generate", "generate", "Make the telemetry of a workload whose truth is known."),
    DeferredCommand(
        "goodput",
        "goodput",
        "Where paid accelerator time went: the exact ledger of training jobs, by leaf, owner and cause.",
    ),
    DeferredCommand("ingest", "data", "Read OpenTelemetry files into the trace store."),
    DeferredCommand(
        "metrics",
        "metrics",
        "Counters, gauges and histograms over time, under one set of names whoever sent them; without METRIC a list.",
    ),
    DeferredCommand("prune", "serve", "Take old data out of a trace store and make its file smaller."),
    DeferredCommand(
        "quality",
        "answers",
        "What the data can bear: completeness, rejects, duplicates, skew, conflicts, and a verdict.",
    ),
    DeferredCommand("query", "data", "Run a SQL statement on the trace store (read-only) and print its rows."),
    DeferredCommand(
        "report",
        "answers",
        "The whole picture: what is in the store, how good it is, and the headlines of every question.",
    ),
    DeferredCommand(
        "serve", "serve", "Receive OpenTelemetry data over OTLP, and serve the app and SQL, all over one trace store."
    ),
    DeferredCommand("stragglers", "answers", "Which rank made the others wait, in which stage and steps."),
    DeferredCommand(
        "tail", "answers", "Which stage made the slow ones slow: the tail against a baseline, split exactly by stage."
    ),
    DeferredCommand(
        "whatif",
        "whatif",
        "What the steps of a training job, or requests, would take under a change, by replay.",
    ),
)
"""Each command with the module of this package that holds it and the first sentence of its help."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tracekit-stages", prog_name="tracekit")
def commands() -> None:
    """Which stage made the slow ones slow? Exact latency attribution from OpenTelemetry data.

    \b
    Examples:
      tracekit demo                                   sample traces, a report, the app
      tracekit ingest traces.jsonl other/ metrics.pb  files into tracekit.duckdb
      tracekit tail --metric ttft                     the slowest 1 % against the middle
      tracekit goodput --slo ttft=2s,tpot=50ms        where paid accelerator time and late requests went
      tracekit failures                               what failed first
      tracekit compare version:1 version:2            what changed
      tracekit query "SELECT count(*) FROM spans"     plain SQL
      tracekit serve                                  receive OTLP, with the app beside it
      tracekit app                                    the investigation app
      tracekit generate slow_worker --out slow        telemetry whose truth is known
    """


for command in COMMANDS:
    commands.add_command(command)


def main() -> None:
    """Run the command line; errors that tracekit knows become one line on standard error."""
    stdout = sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (stdout, sys.stderr):
        # A terminal that lacks a letter gets its number, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        commands(prog_name="tracekit")
    except TracekitError as error:
        if os.environ.get("TRACEKIT_DEBUG") == "1":
            raise
        click.echo(f"Error: {terminal(str(error))}", err=True)
        sys.exit(USAGE_EXIT_CODE if isinstance(error, UsageError) else 1)
    except SystemExit:
        # Where the reader of our output is gone click puts another stream in its place, and ends with 1.
        if sys.stdout is stdout:
            raise
    finally:
        _flush()


def _nowhere() -> TextIO:
    """In place of a stream that is closed (`>&-`)."""
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process


def _flush() -> None:
    """Write what is left; where the reader (`head`, a pager) is gone nothing is left to say, not even at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
