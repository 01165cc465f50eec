"""Sizes and ages as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tracekit.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])

_BYTES = {
    "": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NUMBER_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def parsed_bytes(text: str | None) -> int | None:
    """Bytes of a size such as `500MB` or `2GiB`; None for None. Raises `UsageError`."""
    return None if text is None else _parsed(text, _BYTES, "a size such as 500MB or 2GiB")


def parsed_seconds(text: str | None) -> int | None:
    """Seconds of an age such as `36h` or `30d`; None for None. Raises `UsageError`."""
    return None if text is None else _parsed(text, _SECONDS, "an age such as 36h or 30d")


def limit_options(command: Command) -> Command:
    """`--max-size` and `--max-age`: how much and how long to keep."""
    size = click.option("--max-size", metavar="SIZE", help="Keep at most this much, for example 20GB; the oldest goes.")
    age = click.option("--max-age", metavar="AGE", help="Keep what ended within this time, for example 30d.")
    return size(age(command))


def _parsed(text: str, units: dict[str, int], wanted: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text.strip().lower())
    if match is None or match[2] not in units:
        raise UsageError(f"{text!r} is not {wanted}", value=text)
    return int(float(match[1]) * units[match[2]])
