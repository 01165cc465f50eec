"""A warehouse in an object store as a store that is only read.

DuckDB asks for its files by fsspec. What it asks of a file beside its bytes is known from the manifest, and files never
change, so an object is asked for when bytes are read, and these are kept by DuckDB.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tracekit.errors import StoreError, UsageError
from tracekit.objects import SCHEME, canonical, default_endpoint, object_system, open_object
from tracekit.store import Database
from tracekit.warehouse import manifest as manifests
from tracekit.warehouse.manifest import Manifest
from tracekit.warehouse.reading import check_version, furnished

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

_UNCHANGED = datetime(2000, 1, 1, tzinfo=UTC)


def open_object_warehouse(
    name: str, *, endpoint: str | None = None, tuning: Mapping[str, str] = MappingProxyType({})
) -> Database:
    """The warehouse below a prefix such as `s3://telemetry/warehouse`, as its manifest names it now.

    `endpoint` is the URL of the store, by default what the environment says; `tuning` are settings of DuckDB. Raises
    `UsageError` without the extra `s3`, `StoreVersionError` for one of another version, `StoreError` where there is
    none that can be read.
    """
    prefix, endpoint = canonical(name), endpoint or default_endpoint()
    manifest = _manifest(prefix, endpoint)
    check_version(prefix, manifest)
    files = _file_system(prefix, manifest, object_system(endpoint))
    database = furnished(Database.beside_objects(f"{prefix}/", files, tuning=tuning), prefix, manifest)
    database.read_only = True
    return database


def _manifest(prefix: str, endpoint: str | None) -> Manifest:
    try:
        with open_object(f"{prefix}/{manifests.NAME}", endpoint=endpoint) as stream:
            return manifests.parsed(stream.read(), prefix)
    except OSError as error:
        raise StoreError(f"{prefix}/{manifests.NAME} cannot be read: {error.strerror or error}") from error


class ObjectFile:
    """An object that is opened when its first byte is read.

    DuckDB's threads read the same file at once, each by going to a place and reading there: so each has its own place.
    """

    def __init__(self, system: fs.S3FileSystem, key: str) -> None:
        self._system, self._key = system, key
        self._own = threading.local()
        self._opening = threading.Lock()
        self._stream: pa.NativeFile | None = None

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place from the beginning, which is the only way that DuckDB goes."""
        if whence:
            raise OSError("a place in an object is counted from its beginning")
        self._own.place = offset
        return offset

    def tell(self) -> int:
        """The place where the next byte is read."""
        place: int = getattr(self._own, "place", 0)
        return place

    def read(self, size: int) -> bytes:
        """So many bytes from here. Raises `OSError`."""
        with self._opening:
            if self._stream is None:
                self._stream = self._system.open_input_file(self._key)
        found: bytes = self._stream.read_at(size, self.tell())
        self._own.place = self.tell() + len(found)
        return found

    def close(self) -> None:
        """Let the object go."""
        if self._stream is not None:
            self._stream.close()


def _file_system(prefix: str, manifest: Manifest, system: fs.S3FileSystem) -> Any:
    """The files of a manifest, and no others, for DuckDB."""
    try:
        from fsspec import AbstractFileSystem
    except ImportError as error:
        told = "a warehouse in an object store needs fsspec: install the extra `tracekit-stages[s3]`"
        raise UsageError(told, option="db", value=prefix) from error
    sizes = {
        f"{prefix}/{file.path}".removeprefix(SCHEME): file.size_bytes for part in manifest.parts for file in part.files
    }

    class ManifestFiles(AbstractFileSystem):  # type: ignore[misc]
        protocol = ("s3",)
        cachable = False

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            key = path.removeprefix(SCHEME)
            if key not in sizes:
                raise FileNotFoundError(path)
            return {"name": key, "size": sizes[key], "type": "file"}

        def modified(self, path: str) -> datetime:
            return _UNCHANGED

        def open(self, path: str, mode: str = "rb", **_: Any) -> ObjectFile:
            return ObjectFile(system, self.info(path)["name"])

    return ManifestFiles()
