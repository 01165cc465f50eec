"""The trace store: one DuckDB file that is opened, written, read and brought up to date here."""

from tracekit.store.database import Database
from tracekit.store.held import held_database, holding
from tracekit.store.ingests import IngestWriter
from tracekit.store.preparing import ClusteredBatch, PreparedBatch, clustered, prepared
from tracekit.store.pruning import PruneReport, prune, rewrite, stored_bytes, used_bytes
from tracekit.store.read_only import LimitedRows, read_only_sql
from tracekit.store.schema import SCHEMA_VERSION
from tracekit.store.writing import Reject, WriteCounts, write_batch

__all__ = [
    "SCHEMA_VERSION",
    "ClusteredBatch",
    "Database",
    "IngestWriter",
    "LimitedRows",
    "PreparedBatch",
    "PruneReport",
    "Reject",
    "WriteCounts",
    "clustered",
    "held_database",
    "holding",
    "prepared",
    "prune",
    "read_only_sql",
    "rewrite",
    "stored_bytes",
    "used_bytes",
    "write_batch",
]
