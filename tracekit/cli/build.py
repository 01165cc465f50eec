"""The command that builds a warehouse."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from tracekit import output, warehouse
from tracekit.cli.ingested import ingest_output
from tracekit.cli.options import output_options
from tracekit.cli.progress import progress_bar
from tracekit.errors import UsageError

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MOST_DIGITS = 6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.command()
@click.argument("sources", nargs=-1, metavar="SRC...")
@click.option(
    "--to", "folder", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of the warehouse."
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where the work is done: processes of this machine, or a Spark cluster.",
)
@click.option("--master", metavar="URL", help="The Spark cluster, such as spark://127.0.0.1:7077.")
@click.option(
    "--since", metavar="TIME", help="Leave out files that were last changed before, such as 2026-11-30T12:00Z."
)
@click.option(
    "--endpoint",
    metavar="URL",
    help="The store that s3:// means, where it is not Amazon's; AWS_ENDPOINT_URL stands for it.",
)
@click.option(
    "--look-back",
    metavar="TIME",
    help="How long before and after a new span to look for the rest of its request, such as 2h; by default everywhere.",
)
@click.option("--compact", "is_compacting", is_flag=True, help="Put the small parts of many builds together.")
@click.option(
    "--partitions",
    "part_count",
    type=click.IntRange(min=1),
    help="Parts that new records are dealt to; by default one for 200,000 of them. A worker holds one in memory.",
)
@output_options
def build(
    *,
    sources: tuple[str, ...],
    folder: Path,
    engine: str,
    master: str | None,
    since: str | None,
    endpoint: str | None,
    look_back: str | None,
    is_compacting: bool,
    part_count: int | None,
    output_format: str,
    output_path: Path | None,
) -> None:
    """Build a warehouse of Parquet files: what one file no longer holds.

    SRC is a file, a directory, a glob pattern, or an object, a prefix or a pattern in a store with the API of S3
    (s3://BUCKET/…), in the formats of `tracekit ingest`, or a table of spans in ClickHouse, all of it, a month or a day
    (clickhouse://HOST:8123/DATABASE/otel_traces/2026-12). The first run makes the warehouse, later ones add the sources
    that are new or have changed: requests, steps and jobs that they touch are made anew. A build is committed as a
    whole at its end; one that breaks off changes nothing. Ask the warehouse with `--db FOLDER`. What cannot be stored
    is counted by reason; then the exit code is 1.

    \b
    Examples:
      tracekit build captures/ --to warehouse
      tracekit build '/mnt/otlp/2026-12-01/*.pb.zst' --to warehouse --partitions 16
      tracekit build 's3://telemetry/otlp/year=2026/month=12/day=*' --to warehouse
      tracekit build clickhouse://127.0.0.1:8123/otel/otel_traces/2026-12-01 --to warehouse
      tracekit build /mnt/otlp --to warehouse --look-back 2h
      tracekit build --to warehouse --compact
      tracekit build /mnt/otlp --to /mnt/warehouse --engine spark --master spark://127.0.0.1:7077
      tracekit tail --db warehouse --metric ttft
    """
    if not sources and not is_compacting:
        raise UsageError("name what to build: files, folders, patterns, or s3://BUCKET/PREFIX", option="SRC")
    since_ns = None if since is None else _nanoseconds(since)
    look_back_ns = None if look_back is None else _duration_ns(look_back)
    with _engine(engine, master) as chosen, progress_bar("Building") as progress:
        built = warehouse.build(
            folder,
            sources,
            engine=chosen,
            part_count=part_count,
            since_ns=since_ns,
            endpoint=endpoint,
            look_back_ns=look_back_ns,
            is_compacting=is_compacting,
            progress=progress,
        )
    _tell(built, look_back)
    output.write(ingest_output(built.report), output_format=output_format, path=output_path)
    sys.exit(0 if built.report.is_complete else 1)


def _engine(name: str, master: str | None) -> warehouse.Engine:
    """The engine of a name; that of a cluster is left at the end of the block."""
    if (name == "spark") != (master is not None):
        raise UsageError("--engine spark and --master URL go together", option="master", value=master)
    return warehouse.LocalEngine() if master is None else warehouse.SparkEngine(master)


def _tell(built: warehouse.Built, look_back: str | None) -> None:
    """Say which sources were not read, and what came late."""
    if built.known_count:
        click.echo(f"{built.known_count} sources are in the warehouse already", err=True)
    if built.left_out_count:
        click.echo(f"{built.left_out_count} sources were last changed before --since and are left out", err=True)
    if built.late_count:
        told = f"{built.late_count} new spans begin more than {look_back} before the newest that the warehouse had"
        click.echo(f"{told}: put with what lies within {look_back} of them, and with nothing else", err=True)


def _duration_ns(text: str) -> int:
    """A duration such as `90s`, `30m`, `2h` or `1d` in nanoseconds."""
    number, unit = text[:-1], _UNITS_S.get(text[-1:])
    if unit is None or not (number.isascii() and number.isdigit()) or len(number) > _MOST_DIGITS:
        told = f"--look-back {text} is no duration; write it like 90s, 30m, 2h or 1d"
        raise UsageError(told, option="look-back", value=text)
    return int(number) * unit * 10**9


def _nanoseconds(text: str) -> int:
    """A time of ISO 8601 in nanoseconds since the epoch; in UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        told = f"--since {text} is no time; write it like 2026-11-30 or 2026-11-30T12:00Z"
        raise UsageError(told, option="since", value=text) from error
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    passed = aware - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 10**9 + passed.microseconds * 1000


COMMANDS = (build,)
