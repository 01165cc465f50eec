"""The command that opens the investigation app."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from tracekit.cli.options import database_option
from tracekit.errors import StoreError
from tracekit.queries import folder

port_option = click.option("--ui", "port", default=8501, show_default=True, help="Port of the app.")


@click.command()
@click.argument("stores", nargs=-1, type=click.Path(path_type=Path), metavar="[STORE]...")
@database_option
@port_option
def app(stores: tuple[Path, ...], database: Path, port: int) -> None:
    """Open the investigation app on trace stores, on this machine only (127.0.0.1).

    Without a STORE it opens that of --db; of several, one is chosen in the side bar.

    \b
    Examples:
      tracekit app
      tracekit app monday.duckdb tuesday.duckdb
    """
    for path in stores or (database,):
        if not path.exists():
            remedy = f"ingest files first (tracekit ingest PATH --db {path})"
            raise StoreError(f"there is no trace store at {path}: {remedy}")
    serve_app(stores or (database,), port=port)


def serve_app(stores: Sequence[Path], *, port: int) -> None:
    """Run the Streamlit app on `stores` until it is interrupted; binds to 127.0.0.1 only."""
    # They take seconds to import, and only these commands need them.
    import streamlit as st

    from tracekit.serving import app_settings

    os.environ["TRACEKIT_STORES"] = os.pathsep.join(map(str, stores))
    click.echo(f"The app is at http://127.0.0.1:{port} (Ctrl-C stops it)", err=True)
    settings = app_settings(server_address="127.0.0.1", server_port=port, server_headless=True)
    st.App(folder("app") / "main.py").run(config=settings)


COMMANDS = (app,)
