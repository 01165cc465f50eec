"""Resources and scopes: who sent the records and by which instrumentation."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables.reading import Reading
from tracekit.otlp.wire.fields import CODE
from tracekit.records import RESOURCES, SCOPES, Reason, Signal

RECORDS_OF: dict[Signal, tuple[str, str]] = {
    "traces": ("ResourceSpans", "ScopeSpans"),
    "metrics": ("ResourceMetrics", "ScopeMetrics"),
    "logs": ("ResourceLogs", "ScopeLogs"),
}
"""Record types that hold a signal's resource and scope."""


@dataclass(frozen=True)
class Containers:
    """The resources and scopes of one signal, and where each scope stands."""

    resources: pa.Table
    scopes: pa.Table
    resource_of_scope: np.ndarray
    document_of_scope: np.ndarray


def containers(reading: Reading, signal: Signal) -> Containers:
    """Tables of a signal's resources and scopes, rows in the order of the documents."""
    resource, scope = RECORDS_OF[signal]
    resource_of_scope = reading.rows.parents(scope)
    document_of_resource = reading.rows.parents(resource)
    document_of_scope = document_of_resource[resource_of_scope]
    return Containers(
        resources=_resources(reading, signal, resource, document_of_resource),
        scopes=_scopes(reading, signal, scope, document_of_scope),
        resource_of_scope=resource_of_scope,
        document_of_scope=document_of_scope,
    )


def _resources(reading: Reading, signal: Signal, record: str, documents: np.ndarray) -> pa.Table:
    verdict = reading.open_verdict(record)
    attributes, repeated = reading.attributes(f"{record}.resource.attributes", verdict)
    columns = [
        attributes,
        reading.small(f"{record}.resource.dropped_attributes_count", pa.uint32(), verdict),
        reading.text(f"{record}.schema_url", verdict),
        pa.array(_entity_refs(reading, record, verdict), pa.string()),
    ]
    reading.note_repeated(signal, f"{record}.resource.attributes", repeated, documents)
    _note_text(reading, signal, verdict, documents)
    return pa.table(columns, schema=RESOURCES)


def _scopes(reading: Reading, signal: Signal, record: str, documents: np.ndarray) -> pa.Table:
    verdict = reading.open_verdict(record)
    attributes, repeated = reading.attributes(f"{record}.scope.attributes", verdict)
    columns = [
        reading.text(f"{record}.scope.name", verdict),
        reading.text(f"{record}.scope.version", verdict),
        attributes,
        reading.small(f"{record}.scope.dropped_attributes_count", pa.uint32(), verdict),
        reading.text(f"{record}.schema_url", verdict),
    ]
    reading.note_repeated(signal, f"{record}.scope.attributes", repeated, documents)
    _note_text(reading, signal, verdict, documents)
    return pa.table(columns, schema=SCOPES)


def _note_text(reading: Reading, signal: Signal, verdict: Verdict, documents: np.ndarray) -> None:
    """Notes texts that are not UTF-8: the text is set aside, the records under the resource or scope are
    kept.
    """
    rows = np.flatnonzero(verdict.reason == Reason.INVALID_UTF8)
    if len(rows):
        reading.log.add(
            signal, Reason.INVALID_UTF8, kind="note", documents=documents[rows],
            positions=verdict.position[rows], codes=verdict.code[rows],
        )  # fmt: skip


def _entity_refs(reading: Reading, record: str, verdict: Verdict) -> list[str | None]:
    """The references of each resource as JSON text in OTLP/JSON's form, null where there are none."""
    held = np.flatnonzero(reading.rows.codes("EntityRef") == CODE[f"{record}.resource.entity_refs"])
    if len(held) == 0:
        return [None] * reading.rows.length(record)
    inner = reading.open_verdict("EntityRef")
    schema_urls = reading.text("EntityRef.schema_url", inner).to_pylist()
    types = reading.text("EntityRef.type", inner).to_pylist()
    id_keys, description_keys = (reading.text_lists(f"EntityRef.{name}") for name in ("id_keys", "description_keys"))
    parents = reading.rows.parents("EntityRef")
    verdict.reject(parents[held][~inner.is_kept[held]], Reason.INVALID_UTF8, CODE[f"{record}.resource.entity_refs"])
    lists: list[list[dict[str, object]]] = [[] for _ in range(reading.rows.length(record))]
    for row in held:
        lists[parents[row]].append({
            "schemaUrl": schema_urls[row], "type": types[row],
            "idKeys": id_keys[row], "descriptionKeys": description_keys[row],
        })  # fmt: skip
    return [json.dumps(each, ensure_ascii=False, separators=(",", ":")) if each else None for each in lists]
