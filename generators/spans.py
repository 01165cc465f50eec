"""Spans as columns: what a dialect says, before it becomes SDK objects or Arrow tables.

A `SpanGroup` holds spans of one name, scope and attribute set, one array element a span. Both ways out (the
SDK's exporters, Arrow tables) read the same groups, so they carry the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = range(1, 6)
"""OTLP numbers of span kinds."""
UNSET, STATUS_OK, ERROR = range(3)
"""OTLP numbers of span status codes."""

Scalar = str | bool | int | float
Column = Scalar | np.ndarray


@dataclass(frozen=True)
class Optional:
    """An attribute that only some spans of a group have."""

    values: np.ndarray
    present: np.ndarray


@dataclass(frozen=True)
class EventGroup:
    """One event on those spans of a group that have it."""

    name: str
    time_ns: np.ndarray
    present: np.ndarray
    attributes: Mapping[str, Column | Optional] = field(default_factory=dict)


@dataclass(frozen=True)
class LinkGroup:
    """One link on those spans of a group that have it."""

    span_id: np.ndarray
    present: np.ndarray
    trace: np.ndarray | None = None
    """Index of the linked trace, as `SpanGroup.trace`; None: each span's own trace."""
    attributes: Mapping[str, Column | Optional] = field(default_factory=dict)


@dataclass(frozen=True)
class SpanGroup:
    """Spans of one name (or one array of names), one scope and one set of attributes."""

    name: str | np.ndarray
    scope: str
    kind: int
    resource: np.ndarray
    """Index into `Emission.resources`."""
    trace: np.ndarray
    """Index into `Emission.trace_high` and `.trace_low`."""
    span_id: np.ndarray
    """uint64, as are parent ids; a parent id of 0 means a root."""
    parent_id: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    is_parent_remote: bool = False
    status: np.ndarray | None = None
    """OTLP status codes (uint8); None: all unset."""
    attributes: Mapping[str, Column | Optional] = field(default_factory=dict)
    events: tuple[EventGroup, ...] = ()
    links: tuple[LinkGroup, ...] = ()
    export_ns: np.ndarray | None = None
    """When the exporter sends the span; None: at its end."""

    def __len__(self) -> int:
        return self.span_id.size

    def take(self, rows: np.ndarray) -> SpanGroup:
        """The spans at these positions (an index array, repetitions allowed, or a mask)."""
        return SpanGroup(**{name: taken(value, rows) for name, value in vars(self).items()})

    def exported_ns(self) -> np.ndarray:
        """When each span is sent."""
        return self.end_ns if self.export_ns is None else self.export_ns


@dataclass(frozen=True)
class Emission:
    """All that a run sends: resources, spans, metric series."""

    resources: tuple[Mapping[str, Scalar], ...]
    trace_high: np.ndarray
    trace_low: np.ndarray
    """Trace ids as two uint64 halves."""
    groups: tuple[SpanGroup, ...]
    series: tuple[Any, ...] = ()
    """Metric series (`generators.metrics.Series`)."""
    logs: tuple[Any, ...] = ()
    """Log records (`generators.logs.LogGroup`)."""

    def with_groups(self, groups: list[SpanGroup]) -> Emission:
        """The same emission with other spans."""
        return replace(self, groups=tuple(group for group in groups if len(group)))

    @property
    def span_count(self) -> int:
        """How many spans there are."""
        return sum(len(group) for group in self.groups)

    def in_export_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Group number and row of every span, in the order in which exporters send them.

        Spans of the same instant keep the order of groups, children first as a real exporter would send them.
        """
        numbers = np.repeat(np.arange(len(self.groups)), [len(group) for group in self.groups])
        rows = np.concatenate([np.arange(len(group)) for group in self.groups])
        times = np.concatenate([group.exported_ns() for group in self.groups])
        order = np.argsort(times, kind="stable")
        return numbers[order], rows[order]


def taken(value: Any, rows: np.ndarray) -> Any:
    """The same selection in any part of a group."""
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, Mapping):
        return {key: taken(column, rows) for key, column in value.items()}
    if isinstance(value, tuple):
        return tuple(taken(part, rows) for part in value)
    if isinstance(value, Optional | EventGroup | LinkGroup):
        return type(value)(**{name: taken(part, rows) for name, part in vars(value).items()})
    return value
