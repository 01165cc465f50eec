"""The trace store: one DuckDB file that is opened, written, read and brought up to date here."""

from tracekit.store.connection import is_refusal
from tracekit.store.database import Database
from tracekit.store.held import HeldStore, held_store, holding
from tracekit.store.ingests import IngestWriter, added
from tracekit.store.merging import MergedBatch, SortedBatch, merge_batches, sort_by_service
from tracekit.store.pruning import PruneReport, prune, rewrite, stored_bytes, used_bytes
from tracekit.store.read_only import (
    LimitedRows,
    WatchedDatabase,
    batches,
    looked_up,
    only_looking,
    read_only_sql,
)
from tracekit.store.schema import SCHEMA_VERSION
from tracekit.store.small_sources import SmallSource, has_only_spans, merge_sources, write_sources
from tracekit.store.spilled import spill_folder
from tracekit.store.statements import registered
from tracekit.store.writing import Reject, WriteCounts, decoder_rejects, write_batch

__all__ = [
    "SCHEMA_VERSION",
    "Database",
    "HeldStore",
    "IngestWriter",
    "LimitedRows",
    "MergedBatch",
    "PruneReport",
    "Reject",
    "SmallSource",
    "SortedBatch",
    "WatchedDatabase",
    "WriteCounts",
    "added",
    "batches",
    "decoder_rejects",
    "has_only_spans",
    "held_store",
    "holding",
    "is_refusal",
    "looked_up",
    "merge_batches",
    "merge_sources",
    "only_looking",
    "prune",
    "read_only_sql",
    "registered",
    "rewrite",
    "sort_by_service",
    "spill_folder",
    "stored_bytes",
    "used_bytes",
    "write_batch",
    "write_sources",
]
