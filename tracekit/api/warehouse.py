"""A warehouse, asked as a store is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.api.store import Store
from tracekit.errors import StoreError
from tracekit.objects import is_object

if TYPE_CHECKING:
    from tracekit.ingest import IngestReport


class WarehouseStore(Store):
    """A warehouse that `tracekit build` made: it is only read, and answers as it was when it was opened."""

    @classmethod
    def open(cls, path: str | Path | None, *, read_only: bool = True) -> Store:
        """Open the warehouse in the folder at `path`, or below a prefix of an object store (`s3://BUCKET/PREFIX`).

        Raises `StoreVersionError` or `StoreError`.
        """
        from tracekit.warehouse import open_object_warehouse, open_warehouse

        if is_object(str(path)):
            return cls(open_object_warehouse(str(path)))
        return cls(open_warehouse(Path(path or ".")))

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Refused: `tracekit build` adds sources to a warehouse. Raises `StoreError`."""
        folder = self._database.path or "WAREHOUSE"
        told = f"{folder} is a warehouse, which is only read here; add sources with `tracekit build PATH --to {folder}`"
        raise StoreError(told, path=self._database.path)
