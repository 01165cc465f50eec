"""The folder beside a store for what does not fit into memory while it is open."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_OF_DUCKDB = "duckdb_temp_*"


def spill_folder(path: Path) -> Path:
    """Where what does not fit into memory goes while the store at `path` is open."""
    return path.with_name(path.name + ".tmp")


def clear_spilled(path: Path) -> None:
    """Remove what a process that was killed left in that folder, and the folder where nothing else is in it.

    Only for who has the store open for writing: no other process can have anything there then.
    """
    with suppress(OSError):
        for file in spill_folder(path).glob(_OF_DUCKDB):
            if not file.name.startswith(f"duckdb_temp_{os.getpid()}_"):
                file.unlink(missing_ok=True)
    remove_spill_folder(path)


def remove_spill_folder(path: Path) -> None:
    """Remove that folder where nothing is in it."""
    with suppress(OSError):
        spill_folder(path).rmdir()
