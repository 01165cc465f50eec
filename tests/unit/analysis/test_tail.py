"""The tail against its baseline: exact sums, what enters, and what is concluded."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analysis.rows import MS, Request, Step, traffic, write_units
from tracekit.analysis import TailAnswer, tail
from tracekit.errors import InsufficientDataError
from tracekit.schema import Metric
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]


def test_the_excess_is_named_with_its_stage_and_owner(store: Write) -> None:
    """A stage that only the slow ones spend time in takes the excess, is significant, and has its owner."""
    answer = tail(store(traffic(2000)), "ttft", quantile=0.95)
    top = answer.stages.row(0, named=True)
    assert (top["stage"], top["owner"], top["significant"]) == ("eng.queue", "platform", True)
    assert top["share"] > 0.9
    assert top["low_ns"] < top["excess_ns"] < top["high_ns"]
    assert answer.verdict == "excess_explained"
    assert "eng.queue" in answer.summary


def test_stages_sum_to_the_excess_which_is_the_difference_of_the_means(store: Write) -> None:
    """Nothing is lost to rounding, whatever the metric."""
    database = store(traffic(503))
    for metric in ("ttft", "tpot", "e2e"):
        answer = tail(database, metric, quantile=0.9)
        assert answer.stages["excess_ns"].sum() == answer.excess_ns
        assert answer.excess_ns == answer.tail_mean_ns - answer.baseline_mean_ns
        assert answer.operations["excess_ns"].sum() == answer.excess_ns
        assert answer.classes["mix_ns"].sum() + answer.classes["rate_ns"].sum() == answer.excess_ns
        parts = answer.stages["mix_ns"] + answer.stages["calls_ns"] + answer.stages["per_call_ns"]
        assert parts.to_list() == answer.stages["excess_ns"].to_list()


@st.composite
def _any_requests(draw: st.DrawFn) -> list[Request]:
    stage_ns = st.integers(0, 10**12)
    return [
        Request(
            stages=[
                ("ttft", "a", draw(stage_ns)),
                ("ttft", "b", draw(stage_ns)),
                ("decode", "c", draw(stage_ns)),
                ("decode", "a", draw(stage_ns)),
            ],
            start_ns=number,
            output_tokens=draw(st.integers(1, 9)),
            attributes={"side": draw(st.sampled_from("xy"))},
        )
        for number in range(draw(st.integers(1, 12)))
    ]


@settings(max_examples=12)
@given(
    units=_any_requests(),
    metric=st.sampled_from(["ttft", "tpot", "e2e"]),
    quantile=st.sampled_from([0, 0.5, 0.9]),
    baseline=st.sampled_from(["body", "attributes['side'] = 'x'"]),
)
def test_any_units_split_exactly(units: list[Request], metric: Metric, quantile: float, baseline: str) -> None:
    """The sum over stages equals the excess for any durations, quantile and baseline."""
    with Database.open(None) as database:
        answer = tail(write_units(database, units), metric, quantile=quantile, baseline=baseline)
    assert answer.stages["excess_ns"].sum() == answer.excess_ns
    assert answer.excess_ns == answer.tail_mean_ns - answer.baseline_mean_ns


def test_time_per_token_sums_to_tpot_in_each_unit(store: Write) -> None:
    """10 ns over 3 tokens is 3 ns a token; its stages of 5 and 5 ns get 1 and 2 of them."""
    request = Request([("decode", "eng.decode", 5), ("decode", "out.stream", 5)], output_tokens=4)
    answer = tail(store([request]), "tpot", quantile=0)
    assert answer.tail_mean_ns == 3
    assert dict(answer.stages.select("stage", "tail_mean_ns").iter_rows()) == {
        "eng.decode": 1,
        "out.stream": 2,
    }


def test_only_the_asked_outcome_enters_and_the_rest_is_counted(store: Write) -> None:
    """Failed requests and requests without a first token do not enter; both are shown."""
    units = [
        Request([("ttft", "eng.queue", 10)]),
        Request([("ttft", "eng.queue", 10)], outcome="failed"),
        Request([("e2e", "eng.queue", 10)]),
    ]
    answer = tail(store(units), "ttft", quantile=0)
    assert answer.count == 1
    assert answer.left_out.rows() == [(0, "no ttft", 1), (0, "outcome failed", 1)]


def test_outcome_any_lets_all_in(store: Write) -> None:
    """`outcome="any"` asks about failed units too."""
    units = [Request([("ttft", "eng.queue", 10)], outcome=outcome) for outcome in ("ok", "failed")]
    assert tail(store(units), "ttft", quantile=0, outcome="any").count == 2


def test_equal_requests_have_no_excess(store: Write) -> None:
    """Where the slow ones are as fast as the middle there is nothing to explain."""
    units = [Request([("ttft", "eng.prefill", 10 * MS)], start_ns=number * MS) for number in range(1000)]
    answer = tail(store(units), "ttft")
    assert (answer.excess_ns, answer.verdict) == (0, "no_excess")


def test_few_requests_are_described_but_not_generalised(store: Write) -> None:
    """Five requests have an exact split and no interval, and the verdict says so."""
    answer = tail(store(traffic(5)), "ttft")
    assert answer.verdict == "too_few_units"
    assert answer.stages["low_ns"].null_count() == len(answer.stages)
    assert answer.stages["excess_ns"].sum() == answer.excess_ns


def test_one_long_episode_is_not_many_independent_requests(store: Write) -> None:
    """A queue that is long for a tenth of the time is one event, however many requests it hit."""
    units = [
        Request(
            [("ttft", "eng.queue", (200 if 900 <= number < 1000 else 1) * MS + number)],
            start_ns=number * 1_000_000_000,
        )
        for number in range(1000)
    ]
    database = store(units)
    answer = tail(database, "ttft", quantile=0.95, baseline="body")
    assert answer.verdict == "too_few_blocks"
    assert not answer.significant
    found = tail(database, "ttft")
    assert found.change_start_ns is not None
    assert abs(found.change_start_ns - 900 * 1_000_000_000) <= 8 * 1_000_000_000, "to a slice of the course"
    assert found.change_end_ns == 999 * 1_000_000_000 + 1
    assert found.change_lasts
    assert found.verdict == "excess_explained"
    assert found.summary.startswith("The store changes at ")


def _prompts(kind: str, *, long_share: int, short_ms: int = 100, long_ms: int = 800) -> list[Request]:
    """500 requests of `kind`, `long_share` per cent of them with a prompt of 1,000 tokens instead of 100."""
    draw = random.Random(kind)
    sizes = [(1000, long_ms) if draw.randrange(100) < long_share else (100, short_ms) for _ in range(500)]
    return [
        Request([("ttft", "eng.prefill", prefill_ms * MS + draw.randrange(MS))], input_tokens=tokens,
                start_ns=number * 1_000_000_000 + draw.randrange(1000), attributes={"kind": kind})
        for number, (tokens, prefill_ms) in enumerate(sizes)
    ]  # fmt: skip


def _after_before(database: Database) -> TailAnswer:
    after, before = (f"attributes['kind'] = '{kind}'" for kind in ("after", "before"))
    return tail(database, "ttft", quantile=0, where=after, baseline=before)


def test_more_large_prompts_are_mix_and_not_slowness(store: Write) -> None:
    """Where both sides have long prompts, and only their share has risen, like requests are as fast."""
    answer = _after_before(store(_prompts("after", long_share=60) + _prompts("before", long_share=10)))
    assert answer.verdict == "mix_not_slowness"
    assert "It is mix, not slowness" in answer.summary
    assert answer.size["per_token_ns"][0] < 0 < answer.size["size_ns"][0]
    assert answer.size["size_ns"][0] + answer.size["per_token_ns"][0] == answer.excess_ns


@pytest.mark.parametrize(("long_ms", "each"), [(800, "800.5 µs"), (990, "990.5 µs")])
def test_sizes_that_the_baseline_lacks_are_neither_mix_nor_slowness(store: Write, long_ms: int, each: str) -> None:
    """Ten times the prompt, cheap or dear: with nothing of its size to compare, nothing is chosen."""
    after = _prompts("after", long_share=100, long_ms=long_ms)
    answer = _after_before(store(after + _prompts("before", long_share=0)))
    assert set(answer.classes["presence"]) == {"tail only", "baseline only"}
    assert answer.verdict == "size_or_slowness"
    assert "the baseline has no requests of this size: size and slowness cannot" in answer.summary
    assert f"1,000 input tokens at {each} each against 100 at 1.005 ms" in answer.summary
    assert "mix" not in answer.summary


def test_a_few_sizes_that_the_baseline_lacks_do_not_hide_slowness(store: Write) -> None:
    """Where most of the excess has like units, a small class without any does not change the verdict."""
    after = _prompts("after", long_share=1, short_ms=300, long_ms=900)
    answer = _after_before(store(after + _prompts("before", long_share=0)))
    assert (answer.verdict, "on one side" in answer.summary) == ("excess_explained", False)


def test_requests_of_another_kind_have_no_counterparts(store: Write) -> None:
    """A selection of another model is explained by stage, and the summary says that nothing is like it."""
    draw = random.Random(7)
    units = [
        Request([("ttft", "eng.prefill", (50 if model == "old" else 90) * MS + draw.randrange(MS))],
                model=model, start_ns=number * 1_000_000_000)
        for number in range(500) for model in ("old", "new")
    ]  # fmt: skip
    answer = tail(store(units), "ttft", quantile=0, where="model = 'new'", baseline="model = 'old'")
    assert answer.verdict == "excess_explained"
    assert "of a kind or size that only one side has" in answer.summary


def test_parts_larger_than_the_whole_are_told_in_time(store: Write) -> None:
    """The queue takes 80 ms more, prefill 50 ms less: 267 % would hide that something became faster."""
    units = [
        Request([("ttft", "eng.queue", queue * MS), ("ttft", "eng.prefill", prefill * MS)], start_ns=number,
                attributes={"kind": kind})
        for number in range(20) for kind, queue, prefill in (("after", 90, 50), ("before", 10, 100))
    ]  # fmt: skip
    summary = _after_before(store(units)).summary
    assert "by stage eng.queue 80 ms more, eng.prefill 50 ms less." in summary
    assert "%" not in summary


def test_equal_totals_are_called_so(store: Write) -> None:
    """What one stage gained another lost: the totals are equal, the stages are not."""
    units = [
        Request([("ttft", "eng.queue", queue), ("ttft", "eng.prefill", 100 - queue)],
                attributes={"kind": kind})
        for kind, queue in (("after", 90), ("before", 10))
    ]  # fmt: skip
    summary = _after_before(store(units)).summary
    assert "The totals are equal." in summary
    assert summary.startswith("The only request takes 100 ns to the first token")
    assert "cannot be told from so few: it takes 10 requests on each side, and one has 1." in summary


def test_the_middles_are_not_told_where_there_is_no_excess(store: Write) -> None:
    """After "no excess to explain" nothing is explained."""
    units = [request for kind in ("after", "before") for request in _prompts(kind, long_share=0)]
    answer = _after_before(store(units))
    assert answer.verdict == "no_excess"
    assert answer.levels["excess_ns"].sum() != 0
    assert answer.summary.endswith("there is no excess to explain.")


def test_a_baseline_selection_is_compared_at_the_same_quantile(store: Write) -> None:
    """The slowest tenth after a change against the slowest tenth before it, not against the middle."""
    before = traffic(1000)
    after = [
        Request([*request.stages, ("ttft", "gw.route", 50 * MS)], start_ns=request.start_ns + 10**13)
        for request in traffic(1000, seed=2)
    ]
    answer = tail(
        store(before + after), "ttft", quantile=0.9,
        where="start_ns >= 10000000000000", baseline="start_ns < 10000000000000",
    )  # fmt: skip
    assert answer.comparison == "selection"
    top = answer.stages.row(0, named=True)
    assert (top["stage"], top["excess_ns"], top["significant"]) == ("gw.route", 50 * MS, True)
    level = answer.levels.row(0, named=True)
    assert (level["level"], level["stage"], level["excess_ns"]) == ("body", "gw.route", 50 * MS)


def test_many_windows_like_the_selection_judge_what_is_chance(store: Write) -> None:
    """A baseline of 24 windows as long as the selection is used window by window."""
    requests = traffic(25 * 200)
    border = 24 * 200 * 1_000_000_000
    answer = tail(store(requests), "ttft", quantile=0.9, where=f"start_ns >= {border}", baseline=f"start_ns < {border}")
    assert answer.method == "windows"
    assert answer.block_counts == [24]
    assert answer.verdict == "no_excess"
    assert answer.stages["excess_ns"].sum() == answer.excess_ns


def test_attributes_of_the_slow_are_found_and_identities_set_aside(store: Write) -> None:
    """The tenant that all slow requests have is the first difference; a request id is no group."""
    answer = tail(store(traffic(2000)), "ttft", quantile=0.95)
    first = answer.differences.row(0, named=True)
    assert (first["dimension"], first["value"], first["rest_share"]) == ("tenant", "heavy", 0.0)
    assert first["tail_share"] > 0.95
    assert first["adjusted_p"] < 0.01
    assert answer.attributes_set_aside == ["id"]


def test_exemplars_are_the_units_with_most_time_in_the_stage(store: Write) -> None:
    """The first trace to look at for the queue is the one that waited longest."""
    units = [Request([("ttft", "eng.queue", wait)], start_ns=wait) for wait in range(1, 101)]
    answer = tail(store(units), "ttft", quantile=0.9)
    first = answer.exemplars.row(0, named=True)
    assert (first["stage"], first["trace_id"], first["self_ns"]) == ("eng.queue", f"{100:032x}", 100)


def test_waiting_is_charged_to_the_rank_that_was_waited_for(store: Write) -> None:
    """Three ranks wait for the data loading of rank 2: the cause is rank 2's loading, not the waiting."""

    def part(step: int, rank: int) -> Step:
        late = 150 * MS if step >= 10 else 0
        if rank == 2:
            return Step(step, rank, [("step.compute", 100 * MS), ("step.data_load", late)])
        wait = [(2, "step.data_load", late)] if late else []
        return Step(step, rank, [("step.compute", 100 * MS), ("step.straggler_wait", late)], wait)

    steps = [part(step, rank) for step in range(20) for rank in range(4)]
    answer = tail(store(steps), "step", quantile=0, where="step >= 10", baseline="step < 10")
    assert answer.excess_ns == 150 * MS
    causes = answer.causes.select("culprit_rank", "culprit_stage", "excess_ns").rows()
    waiting = answer.stages.filter(stage="step.straggler_wait")["excess_ns"].item()
    assert causes == [(2, "step.data_load", waiting)]
    assert "step.data_load on rank 2 100%" in answer.summary


def test_waiting_that_was_charged_to_nobody_is_a_row(store: Write) -> None:
    """The rows of the causes sum to the waiting, also where part of it could not be followed."""
    units = [Step(1, 0, [("step.straggler_wait", 100)], [(1, "step.compute", 60)])]
    answer = tail(store(units), "step", quantile=0)
    assert answer.causes.select("culprit_rank", "culprit_stage", "tail_mean_ns").sort("tail_mean_ns").rows() == [
        (None, "unattributed", 40),
        (1, "step.compute", 60),
    ]


def test_damaged_traces_are_refused(store: Write) -> None:
    """Above a tenth of the time in orphaned spans the answer is refused, whatever its numbers."""
    units = [Request([("ttft", "eng.queue", 100 + number)], start_ns=number, orphan_ns=20) for number in range(100)]
    answer = tail(store(units), "ttft")
    assert answer.verdict == "refused"
    assert answer.as_dict()["quality"]["counts"]["orphan_ns"] == 2000


def test_conflicts_are_named_in_the_evidence(store: Write) -> None:
    """Units with impossible values make the answer usable, not good, and say why."""
    units = [
        Request([("ttft", "eng.queue", 100 + number)], start_ns=number, conflict_count=int(number < 10))
        for number in range(100)
    ]
    evidence = tail(store(units), "ttft").evidence
    assert evidence.verdict == "usable"
    assert "values that cannot be" in evidence.reasons[0]


def test_stages_that_do_not_sum_to_the_duration_are_no_ground_for_an_answer(store: Write) -> None:
    """A store whose stages contradict its durations raises instead of answering."""
    database = store([Request([("ttft", "eng.queue", 100)])])
    with database.transaction() as cursor:
        cursor.execute("UPDATE base.unit_stages SET self_ns = 99")
    with pytest.raises(InsufficientDataError, match="differ from their durations by 1 ns"):
        tail(database, "ttft", quantile=0)


def test_an_empty_store_answers_that_there_is_nothing(database: Database) -> None:
    """No units is an answer, not an error."""
    answer = tail(database, "ttft")
    assert (answer.verdict, answer.count, answer.excess_ns, len(answer.stages)) == ("no_units", 0, 0, 0)
