"""Where a running server can be asked, told by a small file beside the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that holds a store: its address, its process, the token that it wants, the certificate that it shows."""

    url: str
    pid: int
    token: str | None = None
    certificate: str | None = None
    """File of the certificate, where the server speaks TLS."""


@contextmanager
def announced(path: Path, endpoint: Endpoint) -> Iterator[None]:
    """Keep the endpoint file of the store at `path` for as long as the block lasts.

    Only the file's owner may read it, since it holds the token.
    """
    file = _file(path)
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump(asdict(endpoint), stream)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def endpoint_of(path: Path) -> Endpoint | None:
    """The running server that holds the store at `path`; None where none is known.

    A file that a killed server left behind names a process that is gone.
    """
    try:
        endpoint = Endpoint(**json.loads(_file(path).read_text(encoding="utf-8")))
        os.kill(endpoint.pid, 0)
    except (OSError, ValueError, TypeError):
        return None
    return endpoint


def _file(path: Path) -> Path:
    return path.with_name(path.name + ".server")
