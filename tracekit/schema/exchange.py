"""Types whose values cross from a server to its clients, each under a registered name.

A name is part of the protocol between a server and clients of the same version. Only what is registered can be made
from what another process sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tracekit.errors import UsageError

Exchanged = TypeVar("Exchanged", bound=type)

_TYPES: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def exchanged(name: str) -> Callable[[Exchanged], Exchanged]:
    """Register a dataclass under `name`; use it as a decorator, above `@dataclass`.

    Raises `UsageError` where another type has the name.
    """

    def register(kind: Exchanged) -> Exchanged:
        if _TYPES.setdefault(name, kind) is not kind:
            raise UsageError(f"two types are registered under {name!r}: {_TYPES[name].__name__} and {kind.__name__}")
        _NAMES[kind] = name
        return kind

    return register


def exchanged_name(kind: type) -> str | None:
    """The name that a type is registered under; None for a type that never leaves its process."""
    return _NAMES.get(kind)


def exchanged_type(name: str) -> type | None:
    """The type that is registered under a name; None for none."""
    return _TYPES.get(name)
