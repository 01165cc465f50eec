"""What a command of its own process can spare itself, and what it says while it has to wait."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from tracekit.kernels import tell_of_compiling

_NOTICE = "Compiling what this installation uses for the first time, for this processor: up to a minute …"


def prepare() -> None:
    """Prepare the process of a command for its work; not for programs of others.

    The app's pages, which a server shows in its own process, want pandas: `app/investigation` asks for it.
    """
    tell_of_compiling(lambda: click.echo(_NOTICE, err=True))
    _spare_pandas()


class _Absent:
    """Answers that there is no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not loaded for this", name=name)
        return None


def _spare_pandas() -> None:
    """Keep pyarrow from importing pandas, a third of a second, to ask whether what it gets is pandas'.

    It asks once, at its first conversion; where pandas is wanted (`to_pandas`) it imports it all the same.
    """
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)  # type: ignore[arg-type]
    try:
        with suppress(ImportError):
            import pyarrow as pa

            pa.array([0])
    finally:
        sys.meta_path.remove(absent)  # type: ignore[arg-type]
