"""Commands that put data in and take rows out: ingest, query."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tracekit import output
from tracekit.cli.ingested import ingest_output
from tracekit.cli.options import database_option, output_options, store_option
from tracekit.cli.progress import progress_bar
from tracekit.cli.stores import opened
from tracekit.errors import UsageError


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@store_option
@output_options
def ingest(paths: tuple[str, ...], database: Path, output_format: str, output_path: Path | None) -> None:
    """Read OpenTelemetry files into the trace store.

    PATH is a file, a directory, a glob pattern, or - for standard input. Formats are recognised from content:
    OTLP/JSON lines, documents and arrays, OTLP protobuf, the Collector's file exporter in all its framings, answers
    of Jaeger and Tempo, JSON of Jaeger and Zipkin (v2), rows of ClickHouse's otel_traces (FORMAT JSONEachRow), what
    console exporters print, PyTorch Flight Recorder dumps and tables of operations; each but the last two also
    compressed with gzip or zstd. What cannot be stored is counted by reason; then the exit code is 1.

    \b
    Examples:
      tracekit ingest traces.jsonl
      tracekit ingest captures/ 'more/*.pb' --db prod.duckdb
      zcat traces.jsonl.gz | tracekit ingest -
    """
    with opened(database) as store, progress_bar("Ingesting") as progress:
        result = store.ingest(*paths, progress=progress)
    output.write(ingest_output(result), output_format=output_format, path=output_path)
    sys.exit(0 if result.is_complete else 1)


@click.command()
@click.argument("statement", required=False, metavar="SQL")
@click.option("-f", "--file", "path", type=click.Path(path_type=Path), help="Read the statement from a file.")
@database_option
@output_options
def query(
    statement: str | None, path: Path | None, database: Path, output_format: str, output_path: Path | None
) -> None:
    """Run a SQL statement on the trace store (read-only) and print its rows.

    `SHOW ALL TABLES` lists what there is; every table and column has a comment (`FROM duckdb_columns()`).

    \b
    Examples:
      tracekit query "SELECT service_name, name, count(*) FROM spans GROUP BY ALL ORDER BY ALL"
      tracekit query -f slow.sql --format csv -o slow.csv
      echo "FROM units LIMIT 3" | tracekit query -
    """
    sql = _statement(statement, path)
    with opened(database, read_only=True) as store:
        output.write(store.sql(sql), output_format=output_format, path=output_path)


def _statement(statement: str | None, path: Path | None) -> str:
    if (statement is None) == (path is None):
        raise UsageError("give one SQL statement, or a file with -f, or - for standard input")
    if path is not None:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {path}: {error}") from error
    return sys.stdin.read() if statement == "-" else str(statement)


COMMANDS = (ingest, query)
