"""The trace store: one DuckDB file that is opened, written, read and brought up to date here."""

from tracekit.store.database import Database
from tracekit.store.held import HeldStore, held_store, holding
from tracekit.store.ingests import IngestWriter
from tracekit.store.preparing import ClusteredBatch, PreparedBatch, clustered, prepared
from tracekit.store.pruning import PruneReport, prune, rewrite, stored_bytes, used_bytes
from tracekit.store.read_only import LimitedRows, WatchedDatabase, looked_up, read_only_sql
from tracekit.store.schema import SCHEMA_VERSION
from tracekit.store.writing import Reject, WriteCounts, write_batch

__all__ = [
    "SCHEMA_VERSION",
    "ClusteredBatch",
    "Database",
    "HeldStore",
    "IngestWriter",
    "LimitedRows",
    "PreparedBatch",
    "PruneReport",
    "Reject",
    "WatchedDatabase",
    "WriteCounts",
    "clustered",
    "held_store",
    "holding",
    "looked_up",
    "prepared",
    "prune",
    "read_only_sql",
    "rewrite",
    "stored_bytes",
    "used_bytes",
    "write_batch",
]
