"""The SQL texts and other files that ship beside the package."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_NAME = re.compile(r"[a-z_]+(?:/[a-z_]+)?/[a-z0-9_]+")
_LONGEST_NAME = 200
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


def is_known(name: str) -> bool:
    """Whether there is a statement `queries/<name>.sql`; no name leads out of the folder."""
    return len(name) <= _LONGEST_NAME and bool(_NAME.fullmatch(name)) and (folder("queries") / f"{name}.sql").is_file()


def names(topic: str) -> list[str]:
    """Names of all queries of a topic (a folder under `queries/`), sorted."""
    return sorted(f"{topic}/{path.stem}" for path in (folder("queries") / topic).glob("*.sql"))
