"""The command that receives: serve."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from tracekit.cli.options import database_option


@click.command()
@database_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; others than this machine's need --token.",
)
@click.option("--grpc", "grpc_port", default=4317, show_default=True, help="Port of OTLP/gRPC.")
@click.option(
    "--http",
    "http_port",
    default=4318,
    show_default=True,
    help="Port of OTLP/HTTP, SQL, /healthz, /readyz, /metrics.",
)
@click.option("--ui", "ui_port", default=8501, show_default=True, help="Port of the app.")
@click.option("--no-ui", is_flag=True, help="Do not serve the app.")
@click.option(
    "--token",
    envvar="TRACEKIT_TOKEN",
    help="Whoever sends or asks must carry it: authorization: Bearer TOKEN.",
)
def serve(
    *, database: Path, host: str, grpc_port: int, http_port: int, ui_port: int, no_ui: bool, token: str | None
) -> None:
    """Receive OpenTelemetry data over OTLP, and serve the app and SQL, all over one trace store.

    What is acknowledged is durable. SIGTERM or Ctrl-C answers what is in flight and stops.

    \b
    Examples:
      tracekit serve
      OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python my_program.py
      tracekit serve --host 0.0.0.0 --token "$TOKEN" --db /data/prod.duckdb
    """
    # They take most of a second to import, and only this command needs them.
    from tracekit import serving
    from tracekit.receiver import ReceiverSettings

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    receiver = ReceiverSettings(host=host, grpc_port=grpc_port, http_port=http_port, token=token)
    settings = serving.ServeSettings(receiver, ui_port=None if no_ui else ui_port)
    serving.serve(
        database, settings, ready=lambda line: click.echo(f"Ready. {line} (Ctrl-C stops)", err=True)
    )


COMMANDS = (serve,)
