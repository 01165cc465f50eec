"""What the tables must hold, written down plainly from the messages of the official parser, row by row."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

MEMBERS = {field.json_name for field in AnyValue.DESCRIPTOR.fields}
Row = dict[str, Any]


class Pairs(list):  # type: ignore[type-arg]
    """A JSON object with its order and its repeated keys."""


def plain(value: object) -> object:
    """A value in which doubles can be compared, not-a-number too."""
    if isinstance(value, float):
        return ("double", struct.pack("<d", value) if not math.isnan(value) else "nan")
    if isinstance(value, Pairs):
        return ("object", [(key, plain(each)) for key, each in value])
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


def parsed(text: str | None) -> object:
    """The JSON text of a column, with the order of keys, and integers told from doubles."""
    return None if text is None else plain(json.loads(text, object_pairs_hook=Pairs))


def attribute_object(attributes: Iterable[KeyValue]) -> object:
    """What the text of an attribute list must say; None where there are none."""
    pairs = _first_of_each(attributes)
    return plain(Pairs((each.key, canonical(each.value)) for each in pairs)) if pairs else None


def body(value: AnyValue) -> object:
    """What the text of a log body must say; None where it is empty."""
    return plain(canonical(value)) if value.WhichOneof("value") else None


def _first_of_each(attributes: Iterable[KeyValue]) -> list[KeyValue]:
    found: dict[str, KeyValue] = {}
    for each in attributes:
        found.setdefault(each.key, each)
    return list(found.values())


def repeated_key_count(attributes: Iterable[KeyValue]) -> int:
    """Number of attributes that are set aside, at any depth of those that are kept."""
    attributes = list(attributes)
    kept = _first_of_each(attributes)
    return len(attributes) - len(kept) + sum(_repeated_inside(each.value) for each in kept)


def _repeated_inside(value: AnyValue) -> int:
    if value.WhichOneof("value") == "kvlist_value":
        return repeated_key_count(value.kvlist_value.values)
    return sum(_repeated_inside(each) for each in value.array_value.values)


def canonical(value: AnyValue) -> object:
    """The value as the JSON of the attributes column has it."""
    member = value.WhichOneof("value")
    if member is None:
        return None
    if member == "array_value":
        return [canonical(each) for each in value.array_value.values]
    if member == "kvlist_value":
        pairs = _first_of_each(value.kvlist_value.values)
        if pairs and pairs[0].key in MEMBERS:
            return explicit(value)
        return Pairs((each.key, canonical(each.value)) for each in pairs)
    needs_form = member == "bytes_value" or (member == "double_value" and not math.isfinite(value.double_value))
    return explicit(value) if needs_form else getattr(value, member)


def explicit(value: AnyValue) -> object:
    """The value in OTLP/JSON's own form."""
    member = value.WhichOneof("value")
    if member is None:
        return Pairs()
    content = getattr(value, member)
    if member == "array_value":
        content = Pairs([("values", [explicit(each) for each in content.values])])
    elif member == "kvlist_value":
        pairs = (Pairs([("key", each.key), ("value", explicit(each.value))]) for each in _first_of_each(content.values))
        content = Pairs([("values", list(pairs))])
    elif member == "bytes_value":
        content = base64.b64encode(content).decode()
    elif member == "int_value":
        content = str(content)
    elif member == "double_value" and not math.isfinite(content):
        content = "NaN" if math.isnan(content) else "Infinity" if content > 0 else "-Infinity"
    name = AnyValue.DESCRIPTOR.fields_by_name[member].json_name
    return Pairs([(name, content)])


def span_number(span_id: bytes) -> int | None:
    """A span id as the number that its bytes are; None where it is empty or all zero."""
    return int.from_bytes(span_id, "big") or None


def containers(data: Message) -> Iterator[tuple[int, Message]]:
    """Each scope part with the row of its resource."""
    for resource_row, around in enumerate(getattr(data, data.DESCRIPTOR.fields[0].name)):
        for inside in getattr(around, around.DESCRIPTOR.fields_by_number[2].name):
            yield resource_row, inside


def resource_rows(data: Message) -> list[Row]:
    """Rows of `resources`."""
    return [
        {
            "attributes": attribute_object(each.resource.attributes),
            "dropped_attributes_count": each.resource.dropped_attributes_count,
            "schema_url": each.schema_url,
            "entity_refs": [
                (ref.schema_url, ref.type, list(ref.id_keys), list(ref.description_keys))
                for ref in each.resource.entity_refs
            ],
        }
        for each in getattr(data, data.DESCRIPTOR.fields[0].name)
    ]


def scope_rows(data: Message) -> list[Row]:
    """Rows of `scopes`."""
    return [
        {
            "name": each.scope.name, "version": each.scope.version,
            "attributes": attribute_object(each.scope.attributes),
            "dropped_attributes_count": each.scope.dropped_attributes_count, "schema_url": each.schema_url,
        }
        for _, each in containers(data)
    ]  # fmt: skip


def placed_records(data: Message, records: str) -> Iterator[tuple[Row, Message]]:
    """Each record with the rows of its resource and scope."""
    for scope_row, (resource_row, inside) in enumerate(containers(data)):
        for record in getattr(inside, records):
            yield {"resource_row": resource_row, "scope_row": scope_row}, record


def rows_of(table: pa.Table, *, json_columns: tuple[str, ...] = ()) -> list[Row]:
    """The rows of a table in the form of this module."""
    return [
        {name: parsed(each) if name in json_columns else plain(each) for name, each in row.items()}
        for row in table.to_pylist()
    ]


def resources_of(batch: object) -> list[Row]:
    """Rows of the `resources` table in the form of `resource_rows`."""
    table = batch.resources  # type: ignore[attr-defined]
    rows = rows_of(table, json_columns=("attributes",))
    for row, text in zip(rows, table["entity_refs"].to_pylist(), strict=True):
        refs = json.loads(text) if text is not None else []
        row["entity_refs"] = [
            (each["schemaUrl"], each["type"], each["idKeys"], each["descriptionKeys"]) for each in refs
        ]
    return rows
