"""A store that a running server holds, with the questions of an open one."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

import polars as pl

from tracekit import errors
from tracekit.errors import QueryError, StoreError, StoreLockedError, TracekitError
from tracekit.remote.endpoint import Endpoint
from tracekit.remote.parameters import sent
from tracekit.remote.wire import rows_from, unpacked

ROW_LIMIT = 1_000_000
TRUNCATED_HEADER = "tracekit-truncated"
FILE_MEDIA_TYPE = "application/vnd.tracekit.file"
_TIMEOUT_S = 600.0


class RemoteStore:
    """Asks the server at `endpoint`; every method answers what `Store` would."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._open: list[http.client.HTTPConnection] = []

    def interrupt(self) -> None:
        """Leave the server: who waits for an answer in another thread gets `StoreLockedError`."""
        for connection in list(self._open):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of one SELECT statement; the server allows no other.

        Raises `QueryError` with DuckDB's message, and for more than `ROW_LIMIT` rows.
        """
        request = {"sql": statement, "parameters": _sent(parameters), "row_limit": ROW_LIMIT}
        headers, body = self._ask("/api/sql", request)
        if headers.get(TRUNCATED_HEADER):
            remedy = "add LIMIT, or ask when the server is stopped"
            raise QueryError(f"there are more than {ROW_LIMIT} rows; {remedy}", statement=statement)
        return rows_from(body)

    def answer(self, name: str, /, *arguments: object, **options: object) -> Any:
        """What the method `name` of `Store` answers in the server."""
        _, body = self._ask(f"/api/answers/{name}", {"arguments": _sent(arguments), "options": _sent(options)})
        return unpacked(json.loads(body))

    def ingest_file(self, name: str, pieces: Iterable[bytes], *, is_named: bool, is_last: bool) -> Any:
        """What the server says of a file that it ingests from these bytes.

        `is_last` says that no more files follow, so that units are brought up to date.
        """
        asked = urlencode({"name": name, "named": int(is_named), "last": int(is_last)})
        _, body = self._post(f"/api/ingest?{asked}", pieces, media_type=FILE_MEDIA_TYPE)
        return unpacked(json.loads(body))

    def _ask(self, path: str, request: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        return self._post(path, json.dumps(request).encode(), media_type="application/json")

    def _post(self, path: str, content: bytes | Iterable[bytes], *, media_type: str) -> tuple[dict[str, str], bytes]:
        address = urlsplit(self.endpoint.url)
        connection = _connection(address, self.endpoint.certificate)
        self._open.append(connection)
        headers = {"Content-Type": media_type}
        if self.endpoint.token is not None:
            headers["Authorization"] = f"Bearer {self.endpoint.token}"
        try:
            # A server that refuses may answer before it has read everything.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", path, content, headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise StoreLockedError(
                f"process {self.endpoint.pid} holds the store and does not answer at {self.endpoint.url} "
                f"({error}); stop it, then repeat the command",
                endpoint=self.endpoint.url,
                pid=self.endpoint.pid,
            ) from error
        finally:
            self._open.remove(connection)
            connection.close()
        if response.status != http.client.OK:
            raise _error(response.status, body)
        return {name.lower(): value for name, value in response.getheaders()}, body


def _sent(values: dict[str, Any] | tuple[object, ...]) -> Any:
    try:
        if isinstance(values, tuple):
            return [sent(each) for each in values]
        return {name: sent(each) for name, each in values.items()}
    except (TypeError, ValueError, RecursionError) as error:
        raise QueryError(f"a value cannot be sent to the server that holds the store: {error}") from error


def _connection(address: SplitResult, certificate: str | None) -> http.client.HTTPConnection:
    host, port = address.hostname or "", address.port
    if certificate is None:
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    # The server is known by its file and not by a name: it is asked as 127.0.0.1, whatever it is called elsewhere.
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    # A file may hold a server's certificate without that of its issuer.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=context)


def _error(status: int, body: bytes) -> TracekitError:
    """The error that the server met, as the class it had there."""
    try:
        told = json.loads(body)
        kind, message, facts = getattr(errors, told["error"]), told["message"], told.get("facts", {})
        return kind(message, **facts) if issubclass(kind, TracekitError) else StoreError(message)
    except (ValueError, KeyError, TypeError, AttributeError):
        return StoreError(f"the server answered {status}: {body[:200].decode(errors='replace')}")
