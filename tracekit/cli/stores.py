"""The store that a command asks."""

from __future__ import annotations

from pathlib import Path

import click

from tracekit.api import Store
from tracekit.cli.starting import prepare
from tracekit.foreign import plain


def opened(database: Path, *, read_only: bool = False) -> Store:
    """The store at a path; where a server holds the file it is asked instead, which is said on standard error."""
    prepare()
    store = Store.open(database, read_only=read_only)
    if store.served_by is not None:
        click.echo(f"{plain(str(database))} is served by {store.served_by}; asking it there", err=True)
    return store
