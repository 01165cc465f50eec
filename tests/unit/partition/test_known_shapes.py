"""Trace shapes that tools got wrong in public, with the right answer. Rows are (name, parent, start, end)."""

from __future__ import annotations

import pytest

from tests.unit.partition.exclusive_time import self_ns
from tests.unit.partition.traces import named_forest
from tracekit.partition import Forest, partition


def own(*rows: tuple, rule: str = "critical", **options: object) -> dict[str, int]:
    """Exclusive time of each row that owns any, by name."""
    names = [row[0] for row in rows]
    result = partition(named_forest(*rows, **options), rule=rule)
    names += [f"<missing:{absent}>" for absent in result.missing_parent_id]
    return {name: time for name, time in zip(names, self_ns(result).tolist(), strict=True) if time}


def defects(forest: Forest) -> dict[str, int]:
    """Defects of a single trace that are not zero."""
    counts = vars(partition(forest).defects)
    return {name: int(values[0]) for name, values in counts.items() if values[0]}


@pytest.mark.parametrize("rule", ["critical", "active_last"])
def test_children_that_touch_are_both_on_the_path(rule: str) -> None:
    """jaegertracing/jaeger#9148: a strict comparison skips the first child and blames the parent."""
    rows = [("parent", None, 100, 200), ("first", "parent", 100, 150), ("second", "parent", 150, 200)]
    assert own(*rows, rule=rule) == {"first": 50, "second": 50}


def test_a_link_names_what_was_waited_for() -> None:
    """jaegertracing/jaeger-ui#2371: timing alone blames the wrong task of a gather; a link settles it."""
    rows = [
        ("main", None, 0, 500),
        ("foo1", "main", 0, 100),
        ("foo2", "main", 0, 200),
        ("foo3", "main", 200, 500),
    ]
    assert own(*rows) == {"foo2": 200, "foo3": 300}
    assert own(*rows, links={"foo3": "foo1"}) == {"foo1": 100, "main": 100, "foo3": 300}


def test_a_link_to_no_earlier_sibling_is_counted_and_timing_decides() -> None:
    """A wait for a parent, or for what started later, cannot order siblings."""
    rows = [("main", None, 0, 500), ("foo1", "main", 0, 200), ("foo2", "main", 200, 500)]
    for awaited in ("main", "foo2"):
        assert own(*rows, links={"foo2": awaited}) == {"foo1": 200, "foo2": 300}
        assert defects(named_forest(*rows, links={"foo2": awaited})) == {"unused_wait_count": 1}


def test_equal_parallel_children_do_not_make_self_time_negative() -> None:
    """jaegertracing/jaeger-ui#1592: root less the sum of five parallel children is -20; the truth is 4."""
    children = [(f"child{number}", "root", 2, 8) for number in range(1, 6)]
    rows = [("root", None, 0, 10), *children]
    assert own(*rows) == {"root": 4, "child5": 6}


def test_a_consumer_after_its_producer_stays_where_it_is() -> None:
    """jaegertracing/jaeger#448: work that the parent does not wait for is neither shifted nor clipped."""
    rows = [("produce", None, 0, 10), ("consume", "produce", 15, 35)]
    kinds = {"produce": "producer", "consume": "consumer"}
    result = partition(named_forest(*rows, kinds=kinds))
    assert self_ns(result).tolist() == [10, 20]
    assert result.is_primary.tolist() == [True, False]
    assert result.start_ns.tolist() == [0, 15]
    assert defects(named_forest(*rows, kinds=kinds)) == {"async_count": 1, "async_ns": 20}


def test_a_root_that_follows_another_trace_is_a_root() -> None:
    """jaegertracing/jaeger-ui#2427: a reference into another trace is no parent."""
    assert own(("root", None, 0, 10), ("child", "root", 2, 6)) == {"root": 6, "child": 4}


def test_a_child_may_end_after_its_parent() -> None:
    """langfuse/langfuse#7892: a response streams on after the root ended; the rest is counted, not lost."""
    rows = [("request", None, 0, 100), ("stream", "request", 40, 160)]
    assert own(*rows) == {"request": 40, "stream": 60}
    assert defects(named_forest(*rows)) == {"post_root_ns": 60}


def test_a_child_after_the_root_owns_nothing_and_is_counted() -> None:
    """With everything below it, since nothing of it lies in the time that is explained: nothing was cut there."""
    rows = [("root", None, 0, 30), ("late", "root", 40, 80), ("below", "late", 50, 60)]
    assert own(*rows) == {"root": 30}
    assert defects(named_forest(*rows)) == {"post_root_ns": 50}


def test_a_child_before_its_parent_owns_nothing_and_is_counted() -> None:
    """A call cannot begin before its caller: one of the two clocks is wrong."""
    rows = [("root", None, 10, 30), ("early", "root", 2, 8), ("half", "root", 6, 14)]
    assert own(*rows) == {"half": 4, "root": 16}
    assert defects(named_forest(*rows)) == {"outside_count": 1, "outside_ns": 6, "truncated_ns": 4}


BACKGROUND = [
    ("root", None, 0, 100),
    ("handler", "root", 10, 50),
    ("query", "handler", 12, 48),
    ("bg", "handler", 20, 90),
]


def test_what_outlives_its_parent_hangs_at_the_ancestor_that_outlives_it() -> None:
    """It did not hold its parent: that keeps its time, and what follows is its own; nothing is cut."""
    assert own(*BACKGROUND) == {"root": 20, "handler": 4, "query": 36, "bg": 40}
    assert own(*BACKGROUND, rule="active_last") == {"root": 20, "handler": 2, "query": 8, "bg": 70}
    assert defects(named_forest(*BACKGROUND)) == {}


def test_other_tools_cut_what_outlives_its_parent() -> None:
    result = partition(named_forest(*BACKGROUND), outlasting="cut")
    assert self_ns(result).tolist() == [60, 10, 0, 30]


def test_work_wholly_after_its_parent_hangs_higher() -> None:
    """A handler that returns a stream: the work inside the request is the request's."""
    rows = [
        ("root", None, 0, 100),
        ("handler", "root", 0, 10),
        ("stream", "handler", 12, 95),
        ("model", "stream", 20, 90),
    ]
    assert own(*rows) == {"root": 7, "handler": 10, "stream": 13, "model": 70}
    assert defects(named_forest(*rows)) == {}


def test_a_server_outlives_its_client_without_doubt() -> None:
    """A client whose span ends at the headers did nothing but wait for its server, under either rule."""
    rows = [("root", None, 0, 100), ("post", "root", 0, 50), ("serve", "post", 5, 98)]
    kinds = {"post": "client", "serve": "server"}
    for rule in ("critical", "active_last"):
        result = partition(named_forest(*rows, kinds=kinds), rule=rule)
        assert self_ns(result).tolist() == [2, 5, 93]


def test_a_childless_parent_yields_to_known_work_that_outlives_it() -> None:
    """What it did itself is unknown, what the other did is not; the other rule says the opposite."""
    rows = [
        ("root", None, 0, 100),
        ("handler", "root", 0, 50),
        ("agent", "handler", 10, 90),
        ("model", "agent", 20, 80),
    ]
    assert own(*rows) == {"root": 10, "handler": 10, "agent": 20, "model": 60}
    assert own(*rows, rule="active_last") == {"root": 10, "handler": 50, "agent": 10, "model": 30}


def test_what_outlives_the_root_may_not_have_held_it() -> None:
    """Two rules that agree because both cut alike would be no certainty: only one gives it time."""
    rows = [("root", None, 0, 100), ("bg", "root", 40, 160)]
    assert own(*rows) == {"root": 40, "bg": 60}
    assert own(*rows, rule="active_last") == {"root": 100}


def test_a_childless_sibling_that_spans_known_work_is_ambiguous() -> None:
    rows = [("root", None, 0, 100), ("idle", "root", 0, 90), ("call", "root", 5, 80), ("model", "call", 10, 75)]
    assert own(*rows) == {"root": 10, "idle": 90}
    assert own(*rows, rule="active_last") == {"root": 15, "idle": 10, "call": 10, "model": 65}


def test_a_deep_chain_that_all_outlive_hangs_at_the_root_in_good_time() -> None:
    """Ten thousand leaves below ten thousand levels, each of which ends before the leaves do."""
    levels, leaves = 10_000, 10_000
    parent = [-1, *range(levels), *[levels] * leaves]
    end_ns = [10**9, *(10**8 - at for at in range(levels)), *[10**9 - 1] * leaves]
    forest = Forest.from_columns(
        key=[0] * len(parent), parent=parent, start_ns=[0] * len(parent), end_ns=end_ns, tiebreak=range(len(parent))
    )
    result = partition(forest, overlap_tolerance=0.0)
    assert (result.holder[-leaves:] == 0).all()
    assert self_ns(result).sum() == 10**9


def test_a_child_that_contains_its_parent_is_cut_on_both_sides() -> None:
    """The parent waited for it all the time; what sticks out is counted."""
    rows = [("root", None, 10, 30), ("child", "root", 5, 35)]
    assert own(*rows) == {"child": 20}
    assert defects(named_forest(*rows)) == {"truncated_ns": 5, "post_root_ns": 5}


def test_zero_length_children_own_nothing_and_hide_nobody() -> None:
    """A marker at the instant where its sibling ends must not take that sibling's place on the path."""
    rows = [("root", None, 0, 10), ("work", "root", 0, 6), ("mark", "root", 6, 6), ("zero", "root", 10, 10)]
    assert own(*rows) == {"work": 6, "root": 4}
    assert defects(named_forest(*rows)) == {}


def test_a_start_time_of_zero_is_a_time() -> None:
    """A falsy check on it made a known tool loop for ever."""
    assert own(("root", None, 0, 10), ("a", "root", 0, 4), ("b", "a", 0, 4)) == {"root": 6, "b": 4}


def test_siblings_that_overlap_a_little_count_as_consecutive_and_the_overlap_once() -> None:
    """Within 5 % of the earlier one's duration; beyond it they ran side by side."""
    overlapping = [("root", None, 0, 1000), ("a", "root", 0, 200), ("b", "root", 190, 1000)]
    assert own(*overlapping) == {"a": 190, "b": 810}
    parallel = [("root", None, 0, 1000), ("a", "root", 0, 200), ("b", "root", 189, 1000)]
    assert own(*parallel) == {"root": 189, "b": 811}
    assert own(*parallel, rule="active_last") == {"a": 189, "b": 811}


def test_nanoseconds_since_the_epoch_are_exact() -> None:
    """Doubles cannot tell neighbouring nanoseconds of this century apart."""
    epoch_ns = 1_800_000_000_000_000_001
    rows = [("root", None, epoch_ns, epoch_ns + 3), ("child", "root", epoch_ns + 1, epoch_ns + 2)]
    assert own(*rows) == {"root": 2, "child": 1}


def test_orphans_hang_under_the_root_as_missing() -> None:
    """Two parents did not arrive; the time of their children is shown under them, and how much it is."""
    rows = [
        ("root", None, 0, 100),
        ("a", "absent1", 10, 20),
        ("b", "absent1", 30, 50),
        ("c", "absent2", 70, 90),
    ]
    assert own(*rows) == {"root": 40, "a": 10, "b": 20, "c": 20, "<missing:1>": 10}
    assert defects(named_forest(*rows)) == {"orphan_count": 3, "orphan_ns": 60}


def test_an_orphan_without_any_root_is_the_root() -> None:
    """A server whose client is not traced: the request is explained, and the answer says what it rests on."""
    rows = [("request", "client", 5, 105), ("model", "request", 10, 90)]
    assert own(*rows) == {"request": 20, "model": 80}
    assert defects(named_forest(*rows)) == {"root_parent_missing": 1}


def test_of_several_roots_the_earliest_then_longest_is_primary() -> None:
    """The others are trees of their own, reported and not mixed in."""
    rows = [("late", None, 5, 500), ("short", None, 0, 10), ("long", None, 0, 90), ("child", "long", 0, 30)]
    result = partition(named_forest(*rows))
    assert result.root_row.tolist() == [2]
    assert result.is_primary.tolist() == [False, False, True, True]
    assert defects(named_forest(*rows)) == {"extra_root_count": 2}


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("are_a_cycle", [False, True], ids=["two roots", "a cycle"])
def test_equal_roots_are_told_apart_by_tiebreak(names: tuple[str, str], *, are_a_cycle: bool) -> None:
    """The smaller one is primary, whichever row comes first."""
    first, second = names
    above = (second, first) if are_a_cycle else (None, None)
    result = partition(named_forest((first, above[0], 0, 9), (second, above[1], 0, 9)))
    assert result.root_row.tolist() == [names.index("a")]


def test_cycles_are_cut_above_their_earliest_row() -> None:
    rows = [("late", None, 5, 500), ("short", None, 0, 10), ("long", None, 0, 90), ("part", "long", 0, 30)]
    rows = [("root", None, 0, 50), ("a", "b", 20, 40), ("b", "a", 10, 45), ("self", "self", 1, 2)]
    result = partition(named_forest(*rows))
    assert result.effective_parent.tolist() == [-1, 2, -1, -1]
    assert self_ns(result).tolist() == [50, 20, 15, 1]
    assert defects(named_forest(*rows)) == {"cycle_count": 2, "extra_root_count": 2}


def test_a_row_that_ends_before_it_starts_is_zero_length_and_counted() -> None:
    """Its children outlast it, so they hang higher."""
    rows = [("root", None, 0, 50), ("bad", "root", 30, 20), ("child", "bad", 20, 30)]
    assert own(*rows) == {"root": 40, "child": 10}
    assert defects(named_forest(*rows)) == {"negative_duration_count": 1}
