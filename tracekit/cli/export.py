"""The command that writes spans for other tools: export."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import click

from tracekit import output
from tracekit.api import Store
from tracekit.cli.options import database_option
from tracekit.errors import UsageError

_FORMATS = ("perfetto", "csv", "parquet", "jsonl")
_NS = 1_000_000_000


@click.command()
@click.argument("trace", required=False)
@click.option("--to", "wanted", type=click.Choice(_FORMATS), required=True, help="The format.")
@click.option("--job", help="Job of the step; may go without saying where there is one.")
@click.option("--attempt", type=click.IntRange(min=0), help="Attempt of the job.")
@click.option("--step", type=click.IntRange(min=0), help="All ranks of this training step (perfetto).")
@click.option("--since", metavar="TIME", help="Spans that end from here on: ISO 8601 (UTC) or nanoseconds.")
@click.option("--until", metavar="TIME", help="Spans that start before this.")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output; perfetto is compressed where it ends in .gz.",
)
@database_option
def export(
    trace: str | None, wanted: str, job: str | None, attempt: int | None, step: int | None,
    since: str | None, until: str | None, path: Path | None, database: Path,
) -> None:  # fmt: skip
    """Write spans for other tools: a trace, a training step, or a range of time.

    TRACE is a trace id. `perfetto` is the trace event format that https://ui.perfetto.dev and chrome://tracing open:
    a process for each service on a host (and rank), lanes in which spans nest, arrows for links, counters for
    metrics, exact nanoseconds, all attributes. Times count from the first thing in the file. `csv`, `parquet` and
    `jsonl` are the spans as rows.

    \b
    Examples:
      tracekit export --to perfetto 5b8efff798038103d269b633813fc60c -o trace.json
      tracekit export --to perfetto --job job-a --step 25 -o step.json.gz
      tracekit export --to perfetto --since 2026-11-30T05:41:29 --until 2026-11-30T05:41:31 -o window.json
      tracekit export --to parquet -o spans.parquet
    """
    trace_id = None if trace is None else trace.strip().lower()
    limits = {"first_ns": _time_ns(since, "--since"), "last_ns": _time_ns(until, "--until")}
    with Store.open(database, read_only=True) as store:
        if wanted == "perfetto":
            made = store.perfetto(trace_id=trace_id, job=job, attempt=attempt, step=step, **limits)
            _write(made.parts(), path)
            click.echo(_told(made.counts), err=True)
            return
        if (job, attempt, step) != (None, None, None):
            raise UsageError(
                f"--job, --attempt and --step go with --to perfetto, not {wanted}: use --since and --until"
            )
        output.write(store.spans(trace_id=trace_id, **limits), output_format=wanted, path=path)


def _time_ns(text: str | None, option: str) -> int | None:
    """A time in nanoseconds since the epoch; UTC where the text says no zone."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no time: give ISO 8601 or nanoseconds since the epoch",
            option=option.lstrip("-"),
            value=text,
        ) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * _NS + moment.microsecond * 1000


def _write(parts: Iterable[str], path: Path | None) -> None:
    try:
        with output.reader_may_leave(), _opened(path) as file:
            file.writelines(parts)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _opened(path: Path | None) -> IO[str] | nullcontext[IO[str]]:
    if path is None:
        return nullcontext(sys.stdout)
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8")
    return path.open("w", encoding="utf-8")


def _told(counts: dict[str, int]) -> str:
    """What the file shows and what it has no place for; counts of nothing go without saying."""
    return ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count or name == "spans"
    )


COMMANDS = (export,)
