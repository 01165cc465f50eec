"""The commands of a store that receives: serve, prune."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict
from pathlib import Path

import click
import polars as pl

from tracekit import output
from tracekit.cli.limits import limit_options, parsed_bytes, parsed_seconds
from tracekit.cli.options import output_options, store_option
from tracekit.cli.starting import prepare
from tracekit.errors import UsageError
from tracekit.stopping import exit_now, stopping_by_signals
from tracekit.store import Database, rewrite, stored_bytes
from tracekit.store import prune as prune_store

_HOST_HELP = "Address to listen on; others than this machine's need --token."
_HTTP_HELP = "Port of OTLP/HTTP, SQL, /healthz, /readyz, /metrics."
_TOKEN_HELP = "Whoever sends or asks must carry it: authorization: Bearer TOKEN."
_CERT_HELP = "Certificate in PEM, with its chain: all ports then speak TLS."
_PORT = click.IntRange(0, 65_535)
_NANOSECONDS = 10**9
# The whole end takes ten seconds at most.
_LAST_UPDATE_S = 3.0


@click.command()
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help=_HOST_HELP)
@click.option("--grpc", "grpc_port", type=_PORT, default=4317, show_default=True, help="Port of OTLP/gRPC.")
@click.option("--http", "http_port", type=_PORT, default=4318, show_default=True, help=_HTTP_HELP)
@click.option("--ui", "ui_port", type=_PORT, default=8501, show_default=True, help="Port of the app.")
@click.option("--no-ui", is_flag=True, help="Do not serve the app.")
@click.option("--token", envvar="TRACEKIT_TOKEN", help=_TOKEN_HELP)
@click.option("--tls-cert", type=click.Path(path_type=Path), help=_CERT_HELP)
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its private key in PEM, without a password.")
@limit_options
def serve(
    *,
    database: Path,
    host: str,
    grpc_port: int,
    http_port: int,
    ui_port: int,
    no_ui: bool,
    token: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    max_size: str | None,
    max_age: str | None,
) -> None:
    """Receive OpenTelemetry data over OTLP, and serve the app and SQL, all over one trace store.

    What is acknowledged is durable. SIGTERM or Ctrl-C answers what is in flight and stops.

    \b
    Examples:
      tracekit serve
      OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python my_program.py
      tracekit serve --host 0.0.0.0 --token "$TOKEN" --db /data/prod.duckdb --max-age 30d
    """
    prepare()
    # They take most of a second to import, and only this command needs them.
    from tracekit import serving
    from tracekit.receiver import Certificate, ReceiverSettings

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    receiver = ReceiverSettings(
        host=host,
        grpc_port=grpc_port,
        http_port=http_port,
        token=token,
        max_age_s=parsed_seconds(max_age),
        max_store_bytes=parsed_bytes(max_size),
        last_update_s=_LAST_UPDATE_S,
        certificate=Certificate.of(tls_cert, tls_key),
    )
    settings = serving.ServeSettings(receiver, ui_port=None if no_ui else ui_port)
    with stopping_by_signals() as stopping:
        serving.serve(database, settings, stopping=stopping, ready=_say_ready)
    # A question that cannot be interrupted must not hold up the end.
    exit_now()


def _say_ready(line: str) -> None:
    click.echo(f"Ready. {line} (Ctrl-C stops)", err=True)


@click.command()
@limit_options
@store_option
@output_options
def prune(
    max_size: str | None, max_age: str | None, database: Path, output_format: str, output_path: Path | None
) -> None:
    """Take old data out of a trace store and make its file smaller.

    Traces go as a whole. The store must not be served at the time; a server prunes by itself with --max-size and
    --max-age.

    \b
    Examples:
      tracekit prune --max-age 30d
      tracekit prune --max-size 20GB --db /data/prod.duckdb
    """
    age_s, size_bytes = parsed_seconds(max_age), parsed_bytes(max_size)
    if age_s is None and size_bytes is None:
        raise UsageError("give --max-size or --max-age, or both")
    before_ns = None if age_s is None else time.time_ns() - age_s * _NANOSECONDS
    before_bytes = stored_bytes(database)
    with Database.open(database, create=False) as opened:
        removed = prune_store(opened, before_ns=before_ns, max_bytes=size_bytes)
    rewrite(database)
    sizes = {"size_before_bytes": before_bytes, "size_after_bytes": stored_bytes(database)}
    output.write(pl.DataFrame([asdict(removed) | sizes]), output_format=output_format, path=output_path)


COMMANDS = (serve, prune)
