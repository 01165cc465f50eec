"""The trace store: one DuckDB file that is opened, written, read and brought up to date here."""

from tracekit.store.database import Database
from tracekit.store.schema import SCHEMA_VERSION

__all__ = ["SCHEMA_VERSION", "Database"]
