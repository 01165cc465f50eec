"""The command that shows what tracekit does: two real captures, and an incident of each kind."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from tracekit import output
from tracekit.api import Store
from tracekit.cli.generate import generator, make_importable
from tracekit.cli.pages import port_option, serve_app
from tracekit.cli.stores import opened
from tracekit.errors import UsageError
from tracekit.foreign import terminal
from tracekit.queries import folder

DEMO_DATABASE = Path("tracekit-demo.duckdb")
_TICK_S = 10.0
_SEED = 1

INCIDENTS: dict[str, Callable[[Store], str]] = {
    "slow_worker": lambda store: store.tail("ttft").summary,
    "slow_gpu": lambda store: store.stragglers().summary,
    "job_hang": lambda store: store.failures().summary,
}
"""Scenarios of `tracekit generate` that the demo opens, with what tracekit is asked about each."""


@click.command()
@click.option("--serve/--no-serve", default=True, help="Open the app after the report.")
@click.option("--incidents/--no-incidents", default=True, help="Generate an incident of each kind, too.")
@click.option("--db", "database", default=DEMO_DATABASE, show_default=True, type=click.Path(path_type=Path))
@port_option
def demo(*, serve: bool, incidents: bool, database: Path, port: int) -> None:
    """Ingest the sample traces, print the report, open the app on them and on an incident of each kind.

    The incidents are generated: a slow worker, a slow rank, a hanging job. What happened in each is told beside what
    tracekit says of it.
    """
    with opened(database) as store:
        with _told("Reading the sample traces (the first time, kernels are compiled: a minute or two)"):
            store.ingest(str(folder("sample_traces")))
        with _told("Asking every question"):
            report = store.report()
        output.write(report, output_format="table")
    stores = [database, *(_incidents(database) if incidents else [])]
    click.echo(f"The sample traces are in {database}; ask them more with --db {database}.", err=True)
    if serve:
        serve_app(stores, port=port)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what is done and, every ten seconds, that it still is."""
    done = threading.Event()
    started = time.monotonic()

    def say() -> None:
        while not done.wait(_TICK_S):
            click.echo(f"  … {time.monotonic() - started:.0f} s", err=True)

    click.echo(f"{what} …", err=True)
    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _incidents(database: Path) -> list[Path]:
    """A store of each incident beside the samples', and on standard output what happened and what tracekit says."""
    make_importable()
    try:
        generate = generator()
    except UsageError as error:
        click.echo(f"No incidents: {error}.", err=True)
        return []
    from generators import scenarios

    paths = []
    for name, ask in INCIDENTS.items():
        path = database.with_name(f"{database.stem}-{name}.duckdb")
        with _told(f"An incident: {name}"):
            if not path.exists():
                _fill(path, partial(generate, name, seed=_SEED, overrides={}))
            with opened(path, read_only=True) as store:
                answer = ask(store)
        scenario = scenarios.load(name)
        click.echo(f"\n# {scenario.title} ({path})\n\nWhat happened: {scenario.what_happens}")
        click.echo(f"Tracekit says: {terminal(answer)}\n")
        paths.append(path)
    return paths


def _fill(path: Path, write: Callable[..., object]) -> None:
    """Make the store of what `write` puts into a folder; a demo that is stopped leaves no half of one."""
    with tempfile.TemporaryDirectory(prefix=".tracekit-demo-", dir=path.parent) as made:
        write(out=Path(made) / "run")
        half = Path(made) / "store.duckdb"
        with Store.open(half) as store:
            store.ingest(Path(made) / "run")
        half.rename(path)


COMMANDS = (demo,)
