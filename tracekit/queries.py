"""The SQL texts and other files that ship beside the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Path of a folder that ships with tracekit: `queries`, `app` or `sample_traces`.

    A wheel carries these folders inside the package; a checkout has them beside it.
    """
    bundled = _PACKAGE / "_bundled" / name
    return bundled if bundled.is_dir() else _PACKAGE.parent / name


@cache
def text(name: str) -> str:
    """The SQL statement `queries/<name>.sql`, for example `text("tail/stage_excess")`."""
    return (folder("queries") / f"{name}.sql").read_text(encoding="utf-8")


def names(topic: str) -> list[str]:
    """Names of all queries of a topic (a folder under `queries/`), sorted."""
    return sorted(f"{topic}/{path.stem}" for path in (folder("queries") / topic).glob("*.sql"))
