"""Commands that are imported when they are called, so that `tracekit --help` does not wait for DuckDB and polars."""

from __future__ import annotations

import importlib
from typing import Any

import click


class DeferredCommand(click.Command):
    """Stands for a command in the list of all until somebody calls it.

    `module` is a module of this package whose `COMMANDS` hold the command called `name`; `summary` is the first
    sentence of its help.
    """

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._module = module

    def load(self) -> click.Command:
        """The command itself."""
        module = importlib.import_module(f"tracekit.cli.{self._module}")
        return next(command for command in module.COMMANDS if command.name == self.name)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command itself: from here on click deals with that one."""
        return self.load().make_context(info_name, args, parent, **extra)
