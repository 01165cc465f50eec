"""Answers as JSON and back: frozen dataclasses with frames inside arrive as what they were.

A class crosses under the name that it is registered with (`tracekit.schema.exchanged`); nothing else can be made from
what another process sent.
"""

from __future__ import annotations

import base64
import io
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.errors import TracekitError
from tracekit.schema import exchanged_name, exchanged_type


def packed(value: object) -> Any:
    """A value made of scalars, lists, tuples, dicts, frames and tracekit's dataclasses as a JSON value."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic():
            return value.item()
        case pl.DataFrame():
            return {"frame": base64.b64encode(frame_bytes(value)).decode()}
        case list() | tuple():
            return {type(value).__name__: [packed(each) for each in value]}
        case dict():
            return {"dict": [[packed(key), packed(each)] for key, each in value.items()]}
    if is_dataclass(value) and (name := exchanged_name(type(value))) is not None:
        return {
            "type": name,
            "fields": {field.name: packed(getattr(value, field.name)) for field in fields(value)},
        }
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


def unpacked(value: Any) -> Any:
    """The value that `packed` made this JSON value from. Raises `TracekitError` for one it never makes."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case {"frame": text}:
            return frame_from(base64.b64decode(text))
        case {"list": items}:
            return [unpacked(each) for each in items]
        case {"tuple": items}:
            return tuple(unpacked(each) for each in items)
        case {"dict": items}:
            return {unpacked(key): unpacked(each) for key, each in items}
        case {"type": str(name), "fields": dict(values)}:
            return _dataclass(name)(**{key: unpacked(each) for key, each in values.items()})
    raise TracekitError("the server's answer cannot be read; use the same version of tracekit as the server")


def frame_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as an Arrow stream."""
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def frame_from(stream: bytes) -> pl.DataFrame:
    """The frame of an Arrow stream."""
    return pl.read_ipc_stream(io.BytesIO(stream))


def rows_from(stream: bytes) -> pl.DataFrame:
    """The rows of an Arrow stream as DuckDB writes it, in the types that it gives polars where it runs here."""
    return pl.DataFrame(pl.from_arrow(pa.ipc.open_stream(stream).read_all()))


def _dataclass(name: str) -> Any:
    found = exchanged_type(name)
    if found is None:
        raise TracekitError(f"the server's answer holds an unknown {name}; use the same version of tracekit")
    return found
