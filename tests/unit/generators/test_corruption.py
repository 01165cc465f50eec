"""Defects of telemetry: each does what it says, counts what it did, and leaves the rest alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from generators import corruption
from generators.serving import dialects
from generators.serving.simulation import Run
from generators.spans import Emission
from tests.unit.generators.conftest import short_values

NS_PER_MS = 1_000_000


@pytest.fixture(scope="module")
def clean(short_run: Callable[..., Run]) -> Emission:
    """The spans of a short healthy run."""
    return dialects.emission(short_run("healthy"), seed=1)


def corrupted(clean: Emission, seed: int = 3, **settings: object) -> tuple[Emission, dict[str, Any]]:
    """The clean spans with some defects; names without their prefix."""
    values = short_values("healthy", **{f"corrupt__{name}": value for name, value in settings.items()})
    return corruption.apply(clean, values, seed=seed)


def column(emission: Emission, name: str) -> np.ndarray:
    """One column of all spans."""
    return np.concatenate([getattr(group, name) for group in emission.groups])


def test_no_defect_leaves_everything_as_it_is(clean: Emission) -> None:
    """Neutral values change nothing and report nothing."""
    same, done = corrupted(clean)
    assert same is clean
    assert done == {}


def test_missing_spans_are_counted(clean: Emission) -> None:
    """The share asked for, and no other change."""
    left, done = corrupted(clean, missing_share=0.2)
    assert clean.span_count - left.span_count == done["corrupt.missing_share"]
    assert abs(done["corrupt.missing_share"] / clean.span_count - 0.2) < 0.03
    assert set(column(left, "span_id")) < set(column(clean, "span_id"))


def test_only_spans_with_children_go_missing_as_parents(clean: Emission) -> None:
    """Leaves stay, and become orphans."""
    left, done = corrupted(clean, missing_parent_share=0.5)
    gone = set(column(clean, "span_id")) - set(column(left, "span_id"))
    assert gone <= set(column(clean, "parent_id"))
    assert len(gone) == done["corrupt.missing_parent_share"] > 0


def test_duplicates_repeat_whole_spans(clean: Emission) -> None:
    """The same ids and times twice."""
    more, done = corrupted(clean, duplicate_share=0.1)
    assert more.span_count == clean.span_count + done["corrupt.duplicate_share"]
    assert set(column(more, "span_id")) == set(column(clean, "span_id"))


def test_late_spans_change_their_place_in_the_stream_only(clean: Emission) -> None:
    """Times and ids stay; the order of export changes."""
    late, done = corrupted(clean, late_share=0.3, late_s=5.0)
    assert (column(late, "end_ns") == column(clean, "end_ns")).all()
    assert done["corrupt.late_share"] > 0
    assert not np.array_equal(late.in_export_order()[1], clean.in_export_order()[1])


def test_clocks_of_one_host_are_shifted_together(clean: Emission) -> None:
    """Durations stay exact; each host has its own offset, which the truth tells."""
    skewed, done = corrupted(clean, skew_ms=50.0)
    offsets = done["corrupt.skew_ms"]
    assert len(set(offsets.values())) == 3
    for before, after in zip(clean.groups, skewed.groups, strict=True):
        hosts = [str(clean.resources[number]["host.name"]) for number in before.resource]
        assert (after.start_ns - before.start_ns == [offsets[host] for host in hosts]).all()
        assert (after.end_ns - after.start_ns == before.end_ns - before.start_ns).all()


def test_drifting_clocks_stretch_durations_by_their_rate(clean: Emission) -> None:
    """Parts per million of the time since the first span."""
    drifted, done = corrupted(clean, drift_ppm=1000.0)
    rates = done["corrupt.drift_ppm"]
    first_ns = min(column(clean, "start_ns"))
    for before, after in zip(clean.groups, drifted.groups, strict=True):
        hosts = [str(clean.resources[number]["host.name"]) for number in before.resource]
        expected = (before.end_ns - first_ns) * np.array([rates[host] for host in hosts]) * 1e-6
        assert np.abs(after.end_ns - before.end_ns - expected).max() <= 1


def test_millisecond_clocks_have_whole_milliseconds(clean: Emission) -> None:
    """Spans and events alike, always rounded down."""
    coarse, _ = corrupted(clean, ms_clock=True)
    assert (column(coarse, "start_ns") % NS_PER_MS == 0).all()
    assert (column(clean, "end_ns") - column(coarse, "end_ns") < NS_PER_MS).all()
    assert all((event.time_ns % NS_PER_MS == 0).all() for group in coarse.groups for event in group.events)


def test_short_ids_have_an_empty_upper_half(clean: Emission) -> None:
    """64-bit trace ids, as SGLang makes them."""
    short, done = corrupted(clean, short_ids=True)
    assert not short.trace_high.any()
    assert (short.trace_low == clean.trace_low).all()
    assert done["corrupt.short_ids"] == clean.trace_low.size


def test_head_sampling_keeps_or_drops_whole_traces(clean: Emission) -> None:
    """No trace is half recorded."""
    sampled, done = corrupted(clean, head_sampling=0.3)
    kept = set(column(sampled, "trace"))
    whole = np.isin(column(clean, "trace"), list(kept))
    assert whole.sum() == sampled.span_count
    assert len(kept) + done["corrupt.head_sampling"] == clean.trace_low.size


def test_async_children_outlive_their_parents_and_say_so(clean: Emission) -> None:
    """They carry `tracekit.async` and add no time to the request."""
    more, done = corrupted(clean, async_share=0.5)
    audit = next(group for group in more.groups if group.name == "audit_log")
    root = next(group for group in clean.groups if not group.parent_id.any())
    assert len(audit) == done["corrupt.async_share"] > 0
    assert (audit.end_ns >= root.end_ns[np.searchsorted(root.trace, audit.trace)]).all()
    assert audit.attributes == {"tracekit.async": True}
    assert len(set(column(more, "span_id"))) == more.span_count


def test_roots_may_end_at_the_first_token(clean: Emission) -> None:
    """Children then go on after the root has ended."""
    short, done = corrupted(clean, post_root_share=1.0)
    before, after = (next(g for g in one.groups if not g.parent_id.any()) for one in (clean, short))
    assert (after.end_ns <= before.end_ns).all()
    assert (after.end_ns < before.end_ns).sum() == done["corrupt.post_root_share"] > 0


def test_defects_compose_and_are_the_same_for_the_same_seed(clean: Emission) -> None:
    """Any of them together, reproducible."""
    together = {
        "skew_ms": 5.0,
        "missing_share": 0.05,
        "duplicate_share": 0.05,
        "ms_clock": True,
        "short_ids": True,
    }
    one, done = corrupted(clean, **together)
    again, done_again = corrupted(clean, **together)
    assert set(done) == {f"corrupt.{name}" for name in together}
    assert done == done_again
    assert (column(one, "start_ns") == column(again, "start_ns")).all()
    other, _ = corrupted(clean, seed=4, **together)
    assert other.span_count != one.span_count
