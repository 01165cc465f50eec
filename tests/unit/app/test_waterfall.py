"""Operations become rows and segments; no nanosecond is added or lost on the way."""

from __future__ import annotations

import polars as pl
from investigation.waterfall import step_rows, trace_rows

OWNED = pl.List(pl.Struct({"start_ns": pl.Int64, "end_ns": pl.Int64}))
EPOCH_NS = 1_796_017_279_060_210_906


def operation(
    span_id: str | None,
    parent: str | None,
    name: str,
    start_ns: int,
    end_ns: int,
    *owned: tuple[int, int],
    **other: str,
) -> dict[str, object]:
    """One row of `Store.operations`, times given as offsets from a real date."""
    return {
        "span_id": span_id,
        "parent_span_id": parent,
        "operation": name,
        "stage": other.get("stage", "unattributed"),
        "owner": "platform",
        "start_ns": EPOCH_NS + start_ns,
        "end_ns": EPOCH_NS + end_ns,
        "owned": [{"start_ns": EPOCH_NS + start, "end_ns": EPOCH_NS + end} for start, end in owned],
        "source": other.get("source", "span"),
        "quality": other.get("quality", "observed"),
    }


def frame(*rows: dict[str, object]) -> pl.DataFrame:
    """Rows of `Store.operations` as it gives them."""
    return pl.DataFrame(rows, schema_overrides={"owned": OWNED, "span_id": pl.String, "parent_span_id": pl.String})


REQUEST = frame(
    operation("r", None, "POST", 0, 100, (0, 10), (90, 100), stage="gw.ingress"),
    operation("e", "r", "llm_request", 10, 90, (10, 20)),
    operation(None, "e", "queue", 20, 90, (20, 90), stage="eng.queue", source="attribute", quality="derived"),
)
SENDERS = pl.DataFrame(
    {
        "span_id": ["r", "e"],
        "service_name": ["gateway", "vllm"],
        "rank": pl.Series([None, None], dtype=pl.Int32),
        "status_code": ["UNSET", "ERROR"],
        "start_ns": [EPOCH_NS, EPOCH_NS + 10],
    }
)


def test_a_derived_operation_lies_under_the_span_it_was_found_in() -> None:
    """Rows are in tree order, offsets count from the first start."""
    bars, _ = trace_rows(REQUEST, SENDERS)
    assert list(bars.select("row", "depth", "start_ns", "end_ns", "is_virtual").iter_rows()) == [
        (0, 0, 0, 100, False),
        (1, 1, 10, 90, False),
        (2, 2, 20, 90, True),
    ]


def test_a_label_says_who_sent_a_span_and_whether_it_failed() -> None:
    """The sender is named where it changes; a failure is marked."""
    bars, _ = trace_rows(REQUEST, SENDERS)
    assert bars["label"].to_list() == ["POST · gateway", "✕ llm_request · vllm", "queue"]


def test_segments_are_exactly_what_operations_own() -> None:
    """Every owned interval is one segment on its row; together they cover the request."""
    _, segments = trace_rows(REQUEST, SENDERS)
    assert list(segments.select("row", "start_ns", "end_ns").iter_rows()) == [
        (0, 0, 10), (0, 90, 100), (1, 10, 20), (2, 20, 90),
    ]  # fmt: skip


def test_a_derived_operation_says_where_it_is_known_from() -> None:
    """Nothing is shown as observed that was not."""
    bars, _ = trace_rows(REQUEST, SENDERS)
    assert bars["note"].to_list() == ["", "", "derived, from its attribute"]


def test_what_is_odd_about_a_row_is_marked() -> None:
    """A parent that did not arrive, its orphan, a corrected clock and a failure."""
    operations = frame(
        operation("r", None, "POST", 0, 100, (0, 100)),
        operation("gone", "r", "<missing>", 40, 60, source="gap", quality="derived"),
        operation("o", "gone", "orphan", 40, 60),
    )
    senders = pl.DataFrame(
        {
            "span_id": ["r", "o"],
            "service_name": ["gateway", "vllm"],
            "rank": pl.Series([None, None], dtype=pl.Int32),
            "status_code": ["UNSET", "ERROR"],
            "start_ns": [EPOCH_NS, EPOCH_NS + 43],
        }
    )
    bars, _ = trace_rows(operations, senders)
    marks = bars.select("is_virtual", "is_orphan", "is_error", "shift_ns", "last_row")
    assert list(marks.iter_rows()) == [
        (False, False, False, 0, 3), (True, False, False, 0, 3), (False, True, True, -3, 3),
    ]  # fmt: skip


STEP = frame(
    operation("job", None, "train", 0, 100),
    operation("s0", "job", "step", 0, 50, (40, 50)),
    operation("f0", "s0", "forward", 0, 40, (0, 40), stage="step.compute"),
    operation("s1", "job", "step", 5, 50),
    operation("c1", "s1", "collective", 5, 50, (30, 50), stage="step.exposed_comm"),
    operation(
        None, "c1", "collective", 5, 30, (5, 30), stage="step.straggler_wait", source="gap", quality="derived"
    ),
    operation("x", "job", "step", 60, 90, (60, 90)),
)  # fmt: skip
RANKS = pl.DataFrame(
    {
        "rank": [1, 0, 2],
        "host_name": ["node-1", None, None],
        "root_span_id": ["s1", "s0", "s2"],
        "start_ns": [EPOCH_NS + 5, EPOCH_NS, EPOCH_NS + 1],
        "end_ns": [EPOCH_NS + 50, EPOCH_NS + 50, EPOCH_NS + 50],
    }
)


def test_the_ranks_of_a_step_have_a_lane_each_with_all_that_lies_below() -> None:
    """In the order of ranks; operations of other steps in the same trace do not enter, no rank is left out."""
    bars, _ = step_rows(RANKS, STEP)
    assert list(bars.select("label", "depth", "last_row", "start_ns", "end_ns").iter_rows()) == [
        ("rank 0", 0, 2, 0, 50),
        ("forward", 1, 2, 0, 40),
        ("rank 1 · node-1", 0, 5, 5, 50),
        ("collective", 1, 5, 5, 50),
        ("collective", 2, 5, 5, 30),
        ("rank 2", 0, 6, 1, 50),
    ]


def test_the_segments_of_a_rank_lie_in_the_rows_of_its_lane() -> None:
    """Waiting belongs to the rank that waits."""
    _, segments = step_rows(RANKS, STEP)
    assert list(segments.select("row", "start_ns", "end_ns", "stage").iter_rows()) == [
        (0, 40, 50, "unattributed"),
        (1, 0, 40, "step.compute"),
        (3, 30, 50, "step.exposed_comm"),
        (4, 5, 30, "step.straggler_wait"),
    ]
