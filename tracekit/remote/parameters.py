"""Values of parameters on their way to a server: those that JSON does not have travel as text under their type."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from tracekit.errors import UsageError

_US = timedelta(microseconds=1)
# A datetime is a date, so it stands first.
_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "$datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "$date": (date, date.isoformat, date.fromisoformat),
    "$time": (time, time.isoformat, time.fromisoformat),
    "$timedelta_us": (timedelta, lambda value: str(value // _US), lambda text: int(text) * _US),
    "$decimal": (Decimal, str, Decimal),
    "$uuid": (uuid.UUID, str, uuid.UUID),
    "$base64": (bytes, lambda value: base64.b64encode(value).decode(), lambda text: base64.b64decode(text)),
}
_MAP = "$map"


def sent(value: Any) -> Any:
    """A parameter as a JSON value. Raises `TypeError` for one that has no form there."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [sent(each) for each in value]
        case dict():
            inside = {key: sent(each) for key, each in value.items()}
            return {_MAP: inside} if _is_marked(inside) else inside
    for mark, (kind, say, _) in _KINDS.items():
        if isinstance(value, kind):
            return {mark: say(value)}
    if hasattr(value, "item"):
        return sent(value.item())
    raise TypeError(f"{type(value).__name__} is no text, number, time, list or mapping")


def received(value: Any) -> Any:
    """The parameter that `sent` made this JSON value from. Raises `UsageError` for one that it never makes."""
    if isinstance(value, list):
        return [received(each) for each in value]
    if not isinstance(value, dict):
        return value
    if not _is_marked(value):
        return {key: received(each) for key, each in value.items()}
    ((mark, content),) = value.items()
    if mark == _MAP and isinstance(content, dict):
        return {key: received(each) for key, each in content.items()}
    try:
        _, _, read = _KINDS[mark]
        return read(content)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        known = ", ".join(_KINDS)
        raise UsageError(f"the parameter {{{mark!r}: {content!r}}} cannot be read; known marks: {known}") from error


def _is_marked(value: dict[Any, Any]) -> bool:
    return len(value) == 1 and str(next(iter(value))).startswith("$")
