"""Defects of telemetry, over any run: what real pipelines do to spans. The workload and its truth stay the
same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from generators.parameters import Parameter, Values
from generators.seeds import identifiers, stream
from generators.spans import INTERNAL, Emission, SpanGroup

ASSUMPTION = "assumption"
NS_PER_MS = 1_000_000

PARAMETERS = (
    Parameter(
        "corrupt.skew_ms",
        0.0,
        "standard deviation of each host's clock offset",
        "real captures: 5 ms",
        0,
        1e6,
    ),
    Parameter("corrupt.drift_ppm", 0.0, "standard deviation of each host's clock drift", "up to 50 ppm", 0, 1e5),
    Parameter("corrupt.missing_share", 0.0, "share of spans that never arrive", ASSUMPTION, 0, 1),
    Parameter(
        "corrupt.missing_parent_share",
        0.0,
        "share of spans with children that never arrive",
        ASSUMPTION,
        0,
        1,
    ),
    Parameter("corrupt.duplicate_share", 0.0, "share of spans that arrive twice", ASSUMPTION, 0, 1),
    Parameter("corrupt.late_share", 0.0, "share of spans that arrive late", ASSUMPTION, 0, 1),
    Parameter("corrupt.late_s", 60.0, "mean lateness of those", ASSUMPTION),
    Parameter("corrupt.short_ids", False, "trace ids of 64 bits, upper half zero", "SGLang"),
    Parameter("corrupt.ms_clock", False, "times are whole milliseconds", ASSUMPTION),
    Parameter("corrupt.head_sampling", 1.0, "share of traces that are recorded at all", ASSUMPTION, 0, 1),
    Parameter("corrupt.async_share", 0.0, "share of traces with a child that outlives its parent", ASSUMPTION, 0, 1),
    Parameter("corrupt.post_root_share", 0.0, "share of roots that end at the first token", ASSUMPTION, 0, 1),
)


def apply(emission: Emission, values: Values, *, seed: int) -> tuple[Emission, dict[str, Any]]:
    """The emission with the defects that the values ask for, and what was done, by defect, with counts."""
    done: dict[str, Any] = {}
    for name, defect, neutral in _DEFECTS:
        if values[name] != neutral:
            emission, done[name] = defect(emission, values, seed)
    return emission, done


def _each(emission: Emission, change: Callable[[SpanGroup, int], SpanGroup]) -> Emission:
    return emission.with_groups([change(group, number) for number, group in enumerate(emission.groups)])


def _chance(seed: int, purpose: str, number: int, count: int) -> np.ndarray:
    return stream(seed, f"corrupt.{purpose}.{number}").random(count)


def _head_sampled(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    kept = stream(seed, "corrupt.head").random(emission.trace_low.size) < float(values["corrupt.head_sampling"])
    return _each(emission, lambda group, _: group.take(kept[group.trace])), int((~kept).sum())


def _with_async_children(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    """A child of the root that starts with it, does not block it and ends after it, as an audit log does."""
    root = next(group for group in emission.groups if not group.parent_id.any())
    chosen = root.take(_chance(seed, "async", 0, len(root)) < float(values["corrupt.async_share"]))
    tail_ns = np.rint(stream(seed, "corrupt.async.tail").exponential(50.0, len(chosen)) * NS_PER_MS).astype(np.int64)
    child = replace(
        chosen, name="audit_log", kind=INTERNAL, span_id=identifiers(seed, "span_ids.async", len(chosen)),
        parent_id=chosen.span_id, end_ns=chosen.end_ns + tail_ns, attributes={"tracekit.async": True},
        status=None, events=(),
    )  # fmt: skip
    return emission.with_groups([*emission.groups, child]), len(chosen)


def _with_short_roots(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    """Roots that end with the first token, while their children go on streaming."""
    first_ns = _first_tokens_ns(emission)
    shortened = 0

    def change(group: SpanGroup, number: int) -> SpanGroup:
        """Change one group."""
        nonlocal shortened
        struck = _chance(seed, "post_root", number, len(group)) < float(values["corrupt.post_root_share"])
        struck &= (group.parent_id == 0) & (first_ns[group.trace] > 0) & (first_ns[group.trace] < group.end_ns)
        shortened += int(struck.sum())
        return replace(group, end_ns=np.where(struck, first_ns[group.trace], group.end_ns))

    return _each(emission, change), shortened


def _first_tokens_ns(emission: Emission) -> np.ndarray:
    first_ns = np.zeros(emission.trace_low.size, np.int64)
    for group in emission.groups:
        for event in group.events:
            first_ns[group.trace[event.present]] = event.time_ns[event.present]
    return first_ns


def _without_some(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    share = float(values["corrupt.missing_share"])
    left = _each(emission, lambda group, number: group.take(_chance(seed, "missing", number, len(group)) >= share))
    return left, emission.span_count - left.span_count


def _without_some_parents(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    parents = np.unique(np.concatenate([group.parent_id for group in emission.groups]))
    share = float(values["corrupt.missing_parent_share"])

    def change(group: SpanGroup, number: int) -> SpanGroup:
        """Change one group."""
        struck = _chance(seed, "missing_parent", number, len(group)) < share
        return group.take(~(struck & np.isin(group.span_id, parents)))

    left = _each(emission, change)
    return left, emission.span_count - left.span_count


def _skewed(emission: Emission, values: Values, seed: int) -> tuple[Emission, dict[str, int]]:
    """Shift every host's clock by an offset; processes of one host share it."""
    hosts = [str(resource.get("host.name", number)) for number, resource in enumerate(emission.resources)]
    offsets = {
        host: round(float(stream(seed, f"corrupt.skew.{host}").normal(0, float(values["corrupt.skew_ms"]))) * NS_PER_MS)
        for host in sorted(set(hosts))
    }
    shift_ns = np.array([offsets[host] for host in hosts], np.int64)
    return _clocked(emission, lambda times, resource: times + shift_ns[resource]), offsets


def _drifting(emission: Emission, values: Values, seed: int) -> tuple[Emission, dict[str, float]]:
    """Let every host's clock run fast or slow from the first span on."""
    hosts = [str(resource.get("host.name", number)) for number, resource in enumerate(emission.resources)]
    ppm = {
        host: float(stream(seed, f"corrupt.drift.{host}").normal(0, float(values["corrupt.drift_ppm"])))
        for host in sorted(set(hosts))
    }
    rate = np.array([ppm[host] * 1e-6 for host in hosts])
    first_ns = min(int(group.start_ns.min()) for group in emission.groups)

    def clock(times: np.ndarray, resource: np.ndarray) -> np.ndarray:
        """What the clock of a process shows."""
        return times + np.rint((times - first_ns) * rate[resource]).astype(np.int64)

    return _clocked(emission, clock), ppm


def _clocked(emission: Emission, clock: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Emission:
    """Spans, their events, log records and readings as the clocks of their processes write them."""
    changed = _each(emission, lambda group, _: _retimed(group, lambda times: clock(times, group.resource)))
    logs = tuple(replace(group, time_ns=clock(group.time_ns, group.resource)) for group in emission.logs)
    series = tuple(
        replace(one, time_ns=clock(one.time_ns, np.full(one.time_ns.size, one.resource))) for one in emission.series
    )
    return replace(changed, logs=logs, series=series)


def _retimed(group: SpanGroup, clock: Callable[[np.ndarray], np.ndarray]) -> SpanGroup:
    events = tuple(replace(event, time_ns=clock(event.time_ns)) for event in group.events)
    return replace(group, start_ns=clock(group.start_ns), end_ns=clock(group.end_ns), events=events)


def _on_ms_clocks(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    changed = _clocked(emission, lambda times, _: times // NS_PER_MS * NS_PER_MS)
    return changed, changed.span_count


def _with_short_ids(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    return replace(emission, trace_high=np.zeros_like(emission.trace_high)), emission.trace_high.size


def _with_duplicates(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    share = float(values["corrupt.duplicate_share"])

    def change(group: SpanGroup, number: int) -> SpanGroup:
        """Change one group."""
        times = 1 + (_chance(seed, "duplicate", number, len(group)) < share)
        return group.take(np.repeat(np.arange(len(group)), times))

    doubled = _each(emission, change)
    return doubled, doubled.span_count - emission.span_count


def _with_late_spans(emission: Emission, values: Values, seed: int) -> tuple[Emission, int]:
    late = 0

    def change(group: SpanGroup, number: int) -> SpanGroup:
        """Change one group."""
        nonlocal late
        struck = _chance(seed, "late", number, len(group)) < float(values["corrupt.late_share"])
        late += int(struck.sum())
        delay_s = stream(seed, f"corrupt.late_s.{number}").exponential(float(values["corrupt.late_s"]), len(group))
        return replace(group, export_ns=group.exported_ns() + np.rint(struck * delay_s * 1e9).astype(np.int64))

    return _each(emission, change), late


_DEFECTS: tuple[tuple[str, Callable[..., tuple[Emission, Any]], object], ...] = (
    ("corrupt.head_sampling", _head_sampled, 1.0),
    ("corrupt.async_share", _with_async_children, 0.0),
    ("corrupt.post_root_share", _with_short_roots, 0.0),
    ("corrupt.missing_share", _without_some, 0.0),
    ("corrupt.missing_parent_share", _without_some_parents, 0.0),
    ("corrupt.skew_ms", _skewed, 0.0),
    ("corrupt.drift_ppm", _drifting, 0.0),
    ("corrupt.ms_clock", _on_ms_clocks, False),
    ("corrupt.short_ids", _with_short_ids, False),
    ("corrupt.duplicate_share", _with_duplicates, 0.0),
    ("corrupt.late_share", _with_late_spans, 0.0),
)
