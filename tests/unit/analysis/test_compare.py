"""Comparing two groups of requests: the same mix, exact sums, chance judged once for all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.unit.analysis.requests_received import S, Seen, call, receive, root
from tests.unit.analysis.rows import MS, Request, Step, write_units
from tracekit.analysis import CompareAnswer, compare
from tracekit.errors import QueryError, UsageError
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
COUNT = 300
BEFORE, AFTER = f"start_ns < {COUNT * S}", f"start_ns >= {COUNT * S}"


def traffic(
    seed: int,
    *,
    prefill_factor: float = 1.0,
    size: float = 6.0,
    failing: float = 0.0,
    first_s: int = 0,
    sizes: float = 0.8,
) -> list[Request]:
    """Requests a second apart: prefill in proportion to the prompt, a queue of skew length, decode by token."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(COUNT):
        prompt, tokens = int(draw.lognormal(size, sizes)) + 1, int(draw.lognormal(4, 0.7)) + 2
        prefill_ns = int(prompt * 0.06 * MS * draw.uniform(0.8, 1.2) * prefill_factor)
        stages = [
            ("ttft", "eng.queue", int(draw.exponential(5 * MS))),
            ("ttft", "eng.prefill", prefill_ns),
            ("decode", "eng.decode", int(tokens * 9 * MS * draw.uniform(0.9, 1.1))),
        ]
        outcome = "failed" if draw.uniform() < failing else "ok"
        made.append(
            Request(stages, start_ns=(first_s + number) * S, input_tokens=prompt, output_tokens=tokens, outcome=outcome)
        )
    return made


@pytest.fixture
def ask(store: Write) -> Callable[..., CompareAnswer]:
    """Compare healthy traffic with other traffic after it."""

    def asked(seed: int = 1, **changes: float) -> CompareAnswer:
        after = traffic(seed + 1000, first_s=COUNT, **changes)
        return compare(store([*traffic(seed), *after]), BEFORE, AFTER)

    return asked


def test_a_stage_that_is_a_tenth_slower_is_found(ask: Callable[..., CompareAnswer]) -> None:
    """And only that one; the rows of a metric sum to it."""
    answer = ask(prefill_factor=1.1)
    found = answer.stages.filter("significant").select("metric", "stage").rows()
    assert found == [("ttft", "eng.prefill"), ("e2e", "eng.prefill")]
    row = answer.stages.row(by_predicate=(pl.col("metric") == "ttft") & (pl.col("stage") == "eng.prefill"), named=True)
    assert 0.05 < row["relative"] < 0.15
    assert row["low_ns"] <= row["excess_ns"] <= row["high_ns"]
    for metric in answer.metrics.iter_rows(named=True):
        parts = answer.stages.filter(metric=metric["metric"])
        for column in ("before_ns", "after_ns", "excess_ns"):
            assert parts[column].sum() == metric[column]
        assert metric["before_count"] == COUNT


def test_larger_requests_are_mix_and_no_change(ask: Callable[..., CompareAnswer]) -> None:
    """Prompts half as long again take longer, and like ones do not."""
    answer = ask(size=6.4)
    assert answer.verdict == "no_change"
    row = answer.metrics.row(by_predicate=pl.col("metric") == "ttft", named=True)
    assert row["mix_ns"] > 5 * abs(row["excess_ns"])


def test_more_failures_are_told(ask: Callable[..., CompareAnswer]) -> None:
    """As a share of what was attempted."""
    answer = ask(failing=0.15)
    row = answer.outcomes.row(by_predicate=pl.col("outcome") == "failed", named=True)
    assert (answer.verdict, row["before"], row["significant"]) == ("regressed", 0.0, True)
    assert answer.regressions(0.05)[0].startswith("failed: 0.00% to 1")


def swinging(count: int, *, first_s: int, more_ms: int) -> list[Request]:
    """Requests a second apart whose queue follows a load that swings once in all of their time."""
    draw = np.random.default_rng(first_s)
    queue_ns = [int((40 + 20 * np.sin(2 * np.pi * n / count) + draw.uniform(0, 5)) * MS) for n in range(count)]
    return [
        Request([("ttft", "gw.auth", (5 + more_ms) * MS), ("ttft", "eng.queue", ns)], start_ns=(first_s + n) * S)
        for n, ns in enumerate(queue_ns)
    ]


def test_a_large_change_of_all_is_certain_in_however_little_independent_time(store: Write) -> None:
    """150 ms more for all of 608 requests: four blocks of time and what they differ by are enough."""
    count = 608
    units = [*swinging(count, first_s=0, more_ms=0), *swinging(count, first_s=count, more_ms=150)]
    answer = compare(store(units), f"start_ns < {count * S}", f"start_ns >= {count * S}")
    assert min(answer.block_counts) < 4
    assert answer.verdict == "regressed"
    whole = answer.metrics.row(by_predicate=pl.col("metric") == "ttft", named=True)
    assert whole["significant"]
    assert whole["low_ns"] < 150 * MS < whole["high_ns"]


def test_nothing_follows_from_a_slow_swing(store: Write) -> None:
    """The same swing without the delay: one sees half a swing more of it, which is neither a change nor none."""
    count = 608
    units = [*swinging(count, first_s=0, more_ms=0), *swinging(count, first_s=count, more_ms=0)[: count // 2]]
    answer = compare(store(units), f"start_ns < {count * S}", f"start_ns >= {count * S}")
    assert answer.verdict == "too_few_blocks"


def test_requests_of_another_model_are_mix_where_only_their_root_tells_it(store: Write) -> None:
    """Plain HTTP requests with `gen_ai.request.model`: twice the slow ones is no regression."""
    draw = np.random.default_rng(8)
    units = []
    for number in range(2 * COUNT):
        slow = draw.uniform() < (0.2 if number < COUNT else 0.8)
        taken = int((200 if slow else 50) * MS * draw.uniform(0.9, 1.1))
        model = {"gen_ai.request.model": "large" if slow else "small"}
        units.append(Request([("e2e", "engine:answer", taken)], start_ns=number * S, model=None, attributes=model,
                             input_tokens=None, output_tokens=None))  # fmt: skip
    answer = compare(store(units), BEFORE, AFTER)
    assert answer.verdict == "no_change"
    assert answer.metrics.row(by_predicate=pl.col("metric") == "e2e", named=True)["mix_ns"] > 50 * MS


def test_the_same_requests_do_not_differ(store: Write) -> None:
    """Not by a nanosecond, and nothing is called certain."""
    database = store(traffic(3))
    answer = compare(database, None, None)
    assert (answer.verdict, answer.metrics["excess_ns"].to_list()) == ("no_change", [0, 0, 0])
    assert answer.regressions(0.0) == []


def test_false_alarms_are_rare() -> None:
    """Of twenty pairs of healthy traffic at most two differ; `make accuracy` asks for many more."""
    verdicts = []
    for seed in range(20):
        with Database.open(None) as database:
            write_units(database, [*traffic(seed), *traffic(seed + 1000, first_s=COUNT)])
            verdicts.append(compare(database, BEFORE, AFTER).verdict)
    assert sum(verdict != "no_change" for verdict in verdicts) <= 2


def test_stores_can_be_compared(store: Write) -> None:
    """`other` holds what was before."""
    database = store(traffic(1, prefill_factor=2.0))
    with Database.open(None) as other:
        answer = compare(database, None, None, other=write_units(other, traffic(2)))
    assert answer.verdict == "regressed"
    assert (answer.before_count, answer.after_count) == (COUNT, COUNT)


def test_goodput_is_compared_by_an_slo(store: Write) -> None:
    """Less of it is a regression by its share of what was good before."""
    slow = [replace(unit, stages=[("ttft", "eng.queue", S), *unit.stages[1:]]) for unit in traffic(2, first_s=COUNT)]
    answer = compare(store([*traffic(1), *slow]), BEFORE, AFTER, slo="ttft=500ms")
    goodput = answer.as_dict()["goodput"]
    assert (goodput["after"], goodput["significant"]) == (0.0, True)
    assert any(line.startswith("good: ") for line in answer.regressions(0.05))


def test_versions_and_hosts_of_what_served_are_sides(database: Database, tmp_path: Path) -> None:
    """By the process behind the gateway."""
    spans = [
        span
        for trace in range(1, 9)
        for span in (
            root(S + trace, 200, trace=trace),
            call(2, 0, S, trace=trace, first_token=S // 2),
            Seen(3, 1, S, "generate", parent=2, trace=trace, kind=2, service="vllm", host=f"worker-{trace % 2}"),
        )
    ]
    answer = compare(receive(database, tmp_path, spans), "host:worker-0", "host:worker-1")
    assert (answer.before_count, answer.after_count, answer.verdict) == (4, 4, "too_few_units")


@pytest.mark.parametrize(
    ("side", "error"),
    [
        ("nothing = 1", QueryError), ("", UsageError), ("2026-01-02T00:00/2026-01-01T00:00", UsageError),
        ("2026-01-02T00:00/2026-13-01T00:00", UsageError), ("1 = (SELECT 1)", UsageError),
    ],
)  # fmt: skip
def test_what_is_no_side_is_refused(database: Database, side: str, error: type[Exception]) -> None:
    """With what to write instead."""
    with pytest.raises(error):
        compare(database, side, None)


def test_an_empty_side_is_an_answer(store: Write) -> None:
    """Nothing is divided by it."""
    answer = compare(store(traffic(1)), "false", None)
    assert (answer.verdict, answer.before_count) == ("no_units", 0)
    assert answer.as_dict()["metrics"] == []


def test_the_question_in_sql_agrees(store: Write) -> None:
    """`compare/windows` has the same sign and size, by classes of whole octaves."""
    database = store([*traffic(1), *traffic(2, first_s=COUNT, prefill_factor=1.5)])
    window = {
        "before_first_ns": 0,
        "before_end_ns": COUNT * S,
        "after_first_ns": COUNT * S,
        "after_end_ns": 2 * COUNT * S,
    }
    asked = database.query("compare/windows", **window)
    told = compare(database, BEFORE, AFTER).stages.filter(metric="e2e")
    pair = asked.join(told, on="stage", suffix="_told").filter(stage="eng.prefill").row(0, named=True)
    assert abs(pair["excess_ns"] - pair["excess_ns_told"]) < 0.15 * pair["excess_ns_told"]


@pytest.mark.parametrize(
    ("stage", "per_s", "verdict"),
    [
        # More requests wait longer for each other: load and slowness look the same.
        ("eng.queue", 2, "load_or_slowness"),
        # Where requests do not share, or as many come, it is slower.
        ("gw.auth", 2, "regressed"),
        ("eng.queue", 1, "regressed"),
    ],
)
def test_more_work_is_told_from_slowness(store: Write, stage: str, per_s: int, verdict: str) -> None:
    """By how much more arrived, and by where the time went."""
    draw = np.random.default_rng(5)

    def arriving(count: int, *, first_ns: int, gap_ns: int, more_ms: int) -> list[Request]:
        noise = draw.uniform(0, 4, (count, 2))
        times = [{"gw.auth": 5.0 + one, "eng.queue": 20.0 + two} for one, two in noise]
        return [
            Request(
                [("ttft", name, int((ms + (more_ms if name == stage else 0)) * MS)) for name, ms in parts.items()],
                start_ns=first_ns + number * gap_ns,
            )
            for number, parts in enumerate(times)
        ]

    before = arriving(300, first_ns=0, gap_ns=S, more_ms=0)
    after = arriving(300 * per_s, first_ns=300 * S, gap_ns=S // per_s, more_ms=15)
    answer = compare(store([*before, *after]), f"start_ns < {300 * S}", f"start_ns >= {300 * S}")
    assert answer.verdict == verdict
    assert answer.summary.startswith("Slower where requests wait" if verdict == "load_or_slowness" else "Worse")


def test_data_that_cannot_bear_a_conclusion_get_none(store: Write) -> None:
    """Half of the time of one side hangs in the air: the figures are there, and nothing is concluded."""
    after = traffic(2, first_s=COUNT, prefill_factor=2.0)
    broken = [replace(one, orphan_ns=sum(part_ns for *_, part_ns in one.stages) // 2) for one in after]
    answer = compare(store([*traffic(1), *broken]), BEFORE, AFTER)
    assert (answer.verdict, answer.evidence.verdict) == ("refused", "refused")
    assert answer.summary.startswith("No conclusion, because the data cannot bear one")
    assert answer.as_dict()["quality"]["verdict"] == "refused"
    assert answer.evidence.counts["unit_count"] == 2 * COUNT
