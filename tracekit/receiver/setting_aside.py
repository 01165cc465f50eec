"""Requests that the store refuses for what is in them: counted, named and left out."""

from __future__ import annotations

from contextlib import suppress

from tracekit.otlp import Document, decode
from tracekit.receiver.export import Export
from tracekit.receiver.groups import Written
from tracekit.receiver.outcome import Refusal, Refused
from tracekit.receiver.verdicts import record_count
from tracekit.store import Database, IngestWriter, Reject

_REASON = "refused_by_store"
_MESSAGE_CHARACTERS = 200


def set_aside(database: Database, export: Export, error: Exception) -> Written:
    """Record that nothing of a request is stored, and why; its answer is that of bad data.

    Raises `StoreError` when not even that can be written:
    then it was not the request's fault.
    """
    why = str(error.__cause__ or error).splitlines()[0][:_MESSAGE_CHARACTERS]
    message = f"the store refuses what is in this request ({why}); nothing of it is stored, do not send it again"
    reject = Reject("rejected", export.signal, _REASON, _record_count(export), None, message)
    writer = IngestWriter(database, source="otlp receiver", format=f"{export.transport} {export.encoding}")
    counts = writer.finish(rejects=[reject])
    return Written([Refused(Refusal.INVALID, message)], [(export.signal, counts)])


def _record_count(export: Export) -> int:
    """Records of a request, one where it cannot even be read."""
    with suppress(Exception):
        return record_count(decode([Document(export.payload)], encoding=export.encoding, signal=export.signal))
    return 1
