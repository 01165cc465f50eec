"""How far a command is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Progress = Callable[[int, int], None]


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """A bar on standard error while files are read; none where that is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr, show_pos=False) as bar:

        def progress(done_bytes: int, total_bytes: int) -> None:
            bar.length = max(total_bytes, 1)
            bar.update(done_bytes - bar.pos)

        yield progress
