"""A table `otel_traces` of a ClickHouse server by its HTTP interface: its days as sources, each as JSON lines.

    clickhouse://HOST[:8123]/DATABASE/TABLE[/2026-12-01]

`clickhouses://` speaks TLS (port 8443). The user and the password are those of the environment, `CLICKHOUSE_USER` and
`CLICKHOUSE_PASSWORD`; each process finds them for itself, they are no part of a name and are sent in headers.
"""

from __future__ import annotations

import errno
import http.client
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

_NAME = re.compile(
    r"(?P<scheme>clickhouses?)://?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?"
    r"/(?P<database>\w+)/(?P<table>\w+)/?(?P<day>[\d-]{0,10})\Z",
    re.ASCII,
)
_TIMEOUT_S = 600.0
_TOLD_BYTES = 300
_KEPT_BYTES = 1 << 16
_ANSWER_BYTES = 1 << 26
_FORM = "a table of ClickHouse is named like clickhouse://HOST:8123/DATABASE/TABLE or …/TABLE/2026-12-01"
_SECRET = "put the user and the password into CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, not into the name"
_DAYS = "SELECT toString(toDate(Timestamp, 'UTC')) AS day, toString(count()) FROM {table} GROUP BY day ORDER BY day"
_DIGEST = (
    "SELECT toString(count()), toString(sum(cityHash64(TraceId, SpanId, ParentSpanId, SpanName, Timestamp, Duration))) "
    "FROM {table} WHERE toDate(Timestamp, 'UTC') = '{day}'"
)
_ROWS = (
    "SELECT * FROM {table} WHERE toDate(Timestamp, 'UTC') = '{day}' ORDER BY Timestamp, TraceId, SpanId "
    "SETTINGS date_time_output_format = 'iso', output_format_json_quote_64bit_integers = 1 FORMAT JSONEachRow"
)


@dataclass(frozen=True, slots=True)
class FoundDay:
    """A day of a table, or what cannot be asked because of `error`."""

    name: str
    row_count: int = 0
    is_named: bool = True
    """Whether it was asked for by itself, not found in the table."""
    error: str | None = None


def is_clickhouse(name: str) -> bool:
    """Whether a name is one of a table of ClickHouse."""
    return name.startswith(("clickhouse:/", "clickhouses:/"))


def find_days(name: str) -> list[FoundDay]:
    """The days (UTC) of a table that have spans, in order; those that begin so where the name says `2026-12`.

    A name of another form, or with a password in it, is an error that does not repeat the password.
    """
    if "@" in name:
        return [FoundDay(re.sub(r"//?[^/]*@", "//", name), error=f"cannot be read: {_SECRET}")]
    try:
        asked = _parsed(name)
        days = [line.split("\t") for line in _answer(asked, _DAYS).splitlines()]
    except OSError as error:
        return [FoundDay(name, error=f"cannot be read: {error.strerror or error}")]
    port = f":{asked['port']}" if asked["port"] else ""
    whole = f"{asked['scheme']}://{asked['host']}{port}/{asked['database']}/{asked['table']}"
    found = [
        FoundDay(f"{whole}/{day}", int(count), day == asked["day"])
        for day, count in days
        if day.startswith(asked["day"])
    ]
    return found or [FoundDay(name, error="the table has no spans of that time")]


def rows_digest(name: str) -> str:
    """What tells whether a day has the rows that it had: their number, and a sum over what identifies each.

    Raises `OSError`.
    """
    return ":".join(["rows", *_answer(_parsed(name), _DIGEST).split()])


@contextmanager
def open_day(name: str) -> Iterator[BinaryIO]:
    """The rows of a day as JSON lines, in order of their times, as they come from the server. Raises `OSError`."""
    with _response(_parsed(name), _ROWS) as response:
        yield cast(BinaryIO, io.BufferedReader(_Whole(response), 1 << 20))


class _Whole(io.RawIOBase):
    """The bytes of an answer; one that the server broke off, with or without saying so, is an error at its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        super().__init__()
        self._response = response
        self._last = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some bytes; 0 at the end. Raises `OSError`."""
        with _told():
            size = self._response.readinto(buffer)
        self._last = (self._last + bytes(buffer[max(0, size - _KEPT_BYTES) : size]))[-_KEPT_BYTES:]
        if not size:
            self._check_end()
        return size

    def _check_end(self) -> None:
        """A server that fails while it answers writes why behind the rows, as text or as a row of its own."""
        line = self._last.rstrip(b"\n").rsplit(b"\n", 1)[-1]
        is_cut = bool(self._response.length) or (bool(self._last) and not self._last.endswith(b"}\n"))
        if is_cut or line.startswith(b'{"exception"'):
            told = line[:_TOLD_BYTES].decode(errors="replace").strip()
            raise OSError(errno.EIO, f"ClickHouse broke its answer off: {told}")


def _parsed(name: str) -> dict[str, str]:
    found = _NAME.match(name)
    if found is None:
        raise OSError(errno.EINVAL, _FORM)
    return {key: value or "" for key, value in found.groupdict().items()}


def _answer(asked: dict[str, str], statement: str) -> str:
    """A small answer as text."""
    with _response(asked, statement) as response, _told():
        return response.read(_ANSWER_BYTES).decode()


@contextmanager
def _response(asked: dict[str, str], statement: str) -> Iterator[http.client.HTTPResponse]:
    """What the server answers to a statement over a table; redirections are not followed."""
    is_safe = asked["scheme"] == "clickhouses"
    kind = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
    connection = kind(asked["host"].strip("[]"), int(asked["port"] or (8443 if is_safe else 8123)), timeout=_TIMEOUT_S)
    table = f"`{asked['database']}`.`{asked['table']}`"
    try:
        with _told():
            connection.request("POST", "/", statement.format(table=table, day=asked["day"]).encode(), _credentials())
            response = connection.getresponse()
        if response.status != http.HTTPStatus.OK:
            told = response.read(_TOLD_BYTES).decode(errors="replace").strip()
            raise OSError(errno.EACCES, f"ClickHouse refuses with status {response.status}: {told}")
        yield response
    finally:
        connection.close()


def _credentials() -> dict[str, str]:
    said = {"X-ClickHouse-User": "CLICKHOUSE_USER", "X-ClickHouse-Key": "CLICKHOUSE_PASSWORD"}
    return {header: value for header, name in said.items() if (value := os.environ.get(name))}


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the connection as an `OSError` that says what to do."""
    try:
        yield
    except http.client.HTTPException as error:
        raise OSError(errno.EIO, f"ClickHouse broke its answer off ({type(error).__name__}); try again") from error
    except OSError as error:
        told = f"ClickHouse cannot be reached: {error.strerror or error}; check host, port and network"
        raise OSError(error.errno or errno.EIO, told) from error
