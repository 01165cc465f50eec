"""OTLP's messages as tables that the walkers follow, derived from the official descriptors.

A *code* names one field at one place, for example `Span.status.code`. A repeated message opens a **record**
(a row of its own); a singular message is *inline*: its fields belong to the record around it. A *state* is
the message that a walker stands in. Nothing here is written by hand but the three roots, so a new field of
OTLP only needs a new `opentelemetry-proto`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

# Kinds are the descriptor's own type numbers (1 double ... 18 sint64) and two more.
DOUBLE, INT64, UINT64, INT32, FIXED64, FIXED32, BOOL, STRING = 1, 3, 4, 5, 6, 7, 8, 9
MESSAGE, BYTES, UINT32, ENUM, SFIXED64, SINT32 = 11, 12, 13, 14, 16, 17
RECORD, HEX_ID = 20, 21

# Codes that no descriptor names: a field that OTLP does not know, a fault in a record, a whole document.
UNKNOWN, FAULT, DOCUMENT = 0, 1, 2

_WIRE_TYPE_OF_KIND = {
    INT64: 0, UINT64: 0, INT32: 0, BOOL: 0, UINT32: 0, ENUM: 0, SINT32: 0,
    DOUBLE: 1, FIXED64: 1, SFIXED64: 1,
    STRING: 2, MESSAGE: 2, BYTES: 2, RECORD: 2, HEX_ID: 2,
    FIXED32: 5,
}  # fmt: skip
_HEX_IDS = {"trace_id", "span_id", "parent_span_id"}
_OWN_IDS = {"Span.trace_id", "Span.span_id"}
_ROOTS = (TracesData, MetricsData, LogsData)
_UNITS = {"Span", "Metric", "LogRecord"}
_NEST = {"array_value", "kvlist_value"}
# What OTLP/JSON called the same fields until 0.15 (2022).
_FORMER_NAME = {
    "scopeSpans": "instrumentationLibrarySpans",
    "scopeMetrics": "instrumentationLibraryMetrics",
    "scopeLogs": "instrumentationLibraryLogs",
    "scope": "instrumentationLibrary",
}

# The number that the same field had beside its own on the protobuf wire while both names stood there (0.15 to 0.19).
_FORMER_NUMBER = {"scope_spans": 1000, "scope_metrics": 1000, "scope_logs": 1000}

JSON_ROOT = 3
"""State of a JSON document, which may hold several signals. States 0, 1, 2 are the protobuf roots in
`SIGNALS` order.
"""


FIELD = np.dtype(
    [
        ("kind", np.int8),
        ("wire_type", np.int8),  # protobuf wire type, -1 for what is not on the wire
        ("child", np.int16),  # state of the message that the field opens, -1 for scalars
        ("record", np.int8),  # record type that it opens, -1 for others
        ("repeated", np.bool_),
        ("member", np.int8),  # field number inside `AnyValue`, 0 for fields of other messages
        (
            "marked",
            np.bool_,
        ),  # a message with an entry of its own; an `AnyValue` has none: absent and empty are the same
        ("nest", np.int8),  # 1 where one `AnyValue` opens inside another
        (
            "role",
            np.int8,
        ),  # 1 container (document, resource, scope), 2 unit (span, metric, log record), 0 others
        ("header_code", np.int16),  # for a container: code of its resource or scope, 0 for others
        ("optional_id", np.bool_),  # an id without which its record is stored all the same
        ("signal", np.int8),  # for a field of a root: number of the signal, -1 for others
        ("evidence", np.int8),  # number of the signal whose every unit has the field, -1 for others
    ]
)
"""What is known of a code."""

NAME = np.dtype([("code", np.int16), ("start", np.int32), ("size", np.int32)])
"""A lowerCamelCase field name: a slice of the name bytes."""


class Plan(NamedTuple):
    """The tables as arrays, in the form that compiled code takes."""

    fields: np.ndarray
    """`[code]`: a `FIELD`."""
    code_of: np.ndarray
    """`[state, field number]` to code, 0 where unknown."""
    names: np.ndarray
    """`NAME`s, state by state."""
    first_name: np.ndarray
    """`[state]` to the first of its names; `first_name[state + 1]` is one past the last."""
    name_bytes: np.ndarray
    """The names one after the other, and eight spare bytes."""
    key: int
    """Code of `KeyValue.key`."""


@dataclass
class _Builder:
    kinds: list[int] = field(default_factory=lambda: [0, 0, RECORD])
    names: list[str] = field(default_factory=lambda: ["", "", "Document"])
    messages: list[str] = field(default_factory=lambda: ["", "", ""])
    children: list[int] = field(default_factory=lambda: [-1, -1, JSON_ROOT])
    repeats: list[bool] = field(default_factory=lambda: [False, False, False])
    members: list[int] = field(default_factory=lambda: [0, 0, 0])
    records: list[int] = field(default_factory=lambda: [-1, -1, 0])
    record_names: list[str] = field(default_factory=lambda: ["Document"])
    numbers: dict[int, dict[int, int]] = field(default_factory=lambda: {state: {} for state in range(4)})
    json_names: dict[int, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    record_state: dict[str, int] = field(default_factory=dict)

    def message(self, state: int, message: Descriptor, path: str) -> None:
        """Enters the fields of a message whose walker state is `state`."""
        for each in message.fields:
            if _kind(each) not in _WIRE_TYPE_OF_KIND:
                continue  # no field of OTLP today; a later one of another type is read as unknown
            code = self.code(each, f"{path}.{each.name}")
            self.numbers[state][each.number] = code
            if each.name in _FORMER_NUMBER:
                self.numbers[state][_FORMER_NUMBER[each.name]] = code
            self.json_names[state] += [
                (name, code) for name in (each.json_name, _FORMER_NAME.get(each.json_name)) if name
            ]

    def code(self, entry: FieldDescriptor, name: str) -> int:
        """Enters one field and, for a message, everything below it."""
        code = len(self.kinds)
        self.kinds.append(_kind(entry))
        self.names.append(name)
        self.messages.append(entry.message_type.name if entry.message_type is not None else "")
        self.repeats.append(entry.is_repeated)
        self.members.append(entry.number if entry.containing_type is AnyValue.DESCRIPTOR else 0)
        self.records.append(-1)
        self.children.append(-1)
        if entry.message_type is not None:
            self.children[code] = self.record(code, entry) if entry.is_repeated else self.inline(entry, name)
        return code

    def record(self, code: int, entry: FieldDescriptor) -> int:
        """State of a repeated message; all places that repeat it share one state and one record type."""
        name = entry.message_type.name
        if name not in self.record_state:
            self.record_state[name] = self.state()
            self.record_names.append(name)
            self.records[code] = self.record_names.index(name)
            self.message(self.record_state[name], entry.message_type, name)
        self.records[code] = self.record_names.index(name)
        return self.record_state[name]

    def inline(self, entry: FieldDescriptor, path: str) -> int:
        """State of a singular message, one for each place."""
        state = self.state()
        self.message(state, entry.message_type, path)
        return state

    def state(self) -> int:
        """A new state without fields."""
        self.numbers[len(self.numbers)] = {}
        return len(self.numbers) - 1


def _kind(entry: FieldDescriptor) -> int:
    if entry.message_type is not None:
        return RECORD if entry.is_repeated else MESSAGE
    return HEX_ID if entry.name in _HEX_IDS else int(entry.type)


def _build() -> _Builder:
    builder = _Builder()
    for state, root in enumerate(_ROOTS):
        builder.message(state, root.DESCRIPTOR, "Document")
        builder.json_names[JSON_ROOT] += builder.json_names[state]
    return builder


_BUILT = _build()
CODE: dict[str, int] = {name: code for code, name in enumerate(_BUILT.names) if name}
"""Code of a field, for example `CODE["Span.status.code"]`."""
NAMES: list[str] = _BUILT.names
"""Field name of a code."""
RECORDS: list[str] = _BUILT.record_names
"""Names of the record types."""
_EVIDENCE = {
    "Span.start_time_unix_nano": 0, "Span.trace_id": 0, "Span.span_id": 0, "Metric.name": 1,
}  # fmt: skip


def record_type(name: str) -> int:
    """Number of a record type, for example `record_type("Span")`."""
    return RECORDS.index(name)


def json_name(code: int) -> str:
    """The field's lowerCamelCase name, as a sender would write it."""
    head, *rest = NAMES[code].rsplit(".", 1)[-1].split("_")
    return head + "".join(part.capitalize() for part in rest)


def _is_marked(code: int) -> bool:
    return _BUILT.kinds[code] == RECORD or _BUILT.messages[code] not in ("", AnyValue.DESCRIPTOR.name)


def _role(code: int) -> int:
    name = RECORDS[_BUILT.records[code]] if _BUILT.records[code] >= 0 else ""
    if name == "Document" or name.startswith(("Resource", "Scope")):
        return 1
    return 2 if name in _UNITS else 0


def _header_code(code: int) -> int:
    name = RECORDS[_BUILT.records[code]] if _BUILT.records[code] >= 0 else ""
    return CODE.get(f"{name}.resource", CODE.get(f"{name}.scope", 0))


def _signal(code: int) -> int:
    roots = [set(_BUILT.numbers[state].values()) for state in range(3)]
    return next((number for number, codes in enumerate(roots) if code in codes), -1)


def _code_table() -> np.ndarray:
    highest = max(number for fields in _BUILT.numbers.values() for number in fields)
    table = np.zeros((len(_BUILT.numbers), highest + 1), np.int16)
    for state, fields in _BUILT.numbers.items():
        for number, code in fields.items():
            table[state, number] = code
    return table


def _field(code: int) -> tuple[int, ...]:
    kind = _BUILT.kinds[code]
    wire_type = _WIRE_TYPE_OF_KIND.get(kind, -1)
    nest = NAMES[code].rsplit(".", 1)[-1] in _NEST
    evidence = _EVIDENCE.get(NAMES[code], -1)
    child, record, member = _BUILT.children[code], _BUILT.records[code], _BUILT.members[code]
    return (
        kind, wire_type, child, record, _BUILT.repeats[code], member, _is_marked(code), nest,
        _role(code), _header_code(code), kind == HEX_ID and NAMES[code] not in _OWN_IDS, _signal(code), evidence,
    )  # fmt: skip


def _plan() -> Plan:
    states = range(len(_BUILT.numbers))
    listed = [entry for state in states for entry in _BUILT.json_names[state]]
    sizes = [len(name) for name, _ in listed]
    starts = np.cumsum([0, *sizes])
    names = [(code, start, size) for (_, code), start, size in zip(listed, starts[:-1], sizes, strict=True)]
    blob = "".join(name for name, _ in listed).encode() + bytes(8)
    return Plan(
        fields=np.array([_field(code) for code in range(len(NAMES))], FIELD),
        code_of=_code_table(),
        names=np.array(names, NAME),
        first_name=np.cumsum([0, *(len(_BUILT.json_names[state]) for state in states)]),
        name_bytes=np.frombuffer(blob, np.uint8).copy(),
        key=CODE["KeyValue.key"],
    )


PLAN: Plan = _plan()
"""The tables that both walkers follow."""
