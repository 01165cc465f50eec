"""What other JSON says, in the words of OTLP/JSON: attributes, ids and times.

What a function does not understand it hands on as it is: the decoder then names the field and what is wrong with it.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,32})\Z")
_ISO_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(Z|z|[+-]\d\d:?\d\d)?\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_INT = 1 << 63


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """An object, empty where there is none."""
    return value if isinstance(value, dict) else {}


def any_value(value: Any) -> dict[str, Any]:
    """An `AnyValue` of a JSON value; an integer beyond 64 bits becomes text, null the empty value."""
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        fits = -_LARGEST_INT <= value < _LARGEST_INT
        return {"intValue": str(value)} if fits else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": double(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    return {"arrayValue": {"values": [any_value(each) for each in value]}}


def double(value: float) -> float | str:
    """A number as OTLP/JSON has it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def attributes(values: Any) -> list[dict[str, Any]]:
    """`KeyValue`s of an object."""
    return [{"key": key, "value": any_value(value)} for key, value in object_of(values).items()]


def attribute(key: str, value: Any) -> dict[str, Any]:
    """One `KeyValue`."""
    return {"key": key, "value": any_value(value)}


def padded_id(value: Any, digits: int) -> Any:
    """A hexadecimal id, with or without 0x, with as many digits as OTLP has; no other value is touched."""
    match = _HEX.match(value) if isinstance(value, str) else None
    return match[1].zfill(digits) if match else value


def hex_id(value: Any, digits: int) -> Any:
    """An id in base64 as a hexadecimal one; what is hexadecimal already, or neither, stays."""
    if not isinstance(value, str) or len(value) == digits:
        return value
    try:
        found = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).hex()
    except (binascii.Error, ValueError):
        return value
    return found.zfill(digits) if 0 < len(found) <= digits else value


def ns_of_us(value: Any) -> Any:
    """Nanoseconds of microseconds, exact for whole ones."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value) if len(value) < 20 else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return value
    return value * 1000 if isinstance(value, int) else round(value * 1000)


def ns_of_iso(value: Any) -> Any:
    """Nanoseconds since the epoch of an ISO 8601 time; without a zone it is UTC."""
    match = _ISO_TIME.match(value) if isinstance(value, str) else None
    if match is None:
        return value
    try:
        zone = (match[3] or "Z").upper().replace("Z", "+00:00")
        seconds = (datetime.fromisoformat(match[1] + zone) - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return value
    return int(seconds) * 1_000_000_000 + int((match[2] or "").ljust(9, "0"))


def number_text(value: Any) -> Any:
    """A whole number as OTLP/JSON writes 64 bits; no other value is touched."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def traces(resource: Iterable[dict[str, Any]], scope: Mapping[str, Any], span: Mapping[str, Any]) -> dict[str, Any]:
    """`ResourceSpans` of one span."""
    return {"resource": {"attributes": list(resource)}, "scopeSpans": [{"scope": scope, "spans": [span]}]}
