"""What is computed from two captures of real software against what is known to have happened in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.unit.stages.stored import read_capture, store
from tests.unit.stages.test_arrival import assert_sums_are_exact, contents
from tracekit.analysis import stragglers
from tracekit.stages import operations, update_units
from tracekit.store import Database

CAPTURES = Path(__file__).resolve().parents[2] / "sample_traces"
GATEWAY = "vllm_gateway.traces.jsonl"
TRAINING = "train_ddp_gloo.traces.jsonl"


def capture(name: str) -> Path:
    """A capture among the sample traces, wherever exactly it lies."""
    [path] = CAPTURES.rglob(name)
    return path


@pytest.fixture(scope="module")
def gateway() -> Iterator[Database]:
    with Database.open(None) as database:
        store(database, read_capture(capture(GATEWAY)))
        update_units(database)
        yield database


@pytest.fixture(scope="module")
def training() -> Iterator[Database]:
    with Database.open(None) as database:
        store(database, read_capture(capture(TRAINING)))
        update_units(database)
        yield database


def test_every_window_of_every_unit_is_explained_to_the_nanosecond(gateway: Database, training: Database) -> None:
    """Stages plus `unattributed` are the window, under both rules; waits are the waiting."""
    assert_sums_are_exact(gateway)
    assert_sums_are_exact(training)


@pytest.mark.parametrize("name", [GATEWAY, TRAINING])
def test_captures_in_random_portions_give_the_same_units(name: str) -> None:
    """Three portions in random order are as good as all at once."""
    spans = read_capture(capture(name))
    found = []
    for portions in (1, 3):
        shuffled = spans if portions == 1 else random.Random(7).sample(spans, len(spans))
        with Database.open(None) as database:
            for number in range(portions):
                store(database, shuffled[number::portions])
                update_units(database, batch_traces=50_000 if portions == 1 else 20)
            found.append(contents(database))
    assert found[0] == found[1]


def test_gateway_requests_end_as_they_did(gateway: Database) -> None:
    """286 requests; who left is aborted, prompts beyond the limit are invalid, starting up is none."""
    outcomes = gateway.sql(
        "SELECT attributes['scenario']::VARCHAR AS scenario, outcome, count(*) FROM units GROUP BY ALL"
    )
    assert set(outcomes.rows()) == {
        ("warm", "ok", 1),
        ("steady", "ok", 90),
        ("overload", "ok", 90),
        ("long_prompts", "ok", 60),
        ("aborts", "ok", 24),
        ("aborts", "aborted", 16),
        ("too_long", "invalid", 5),
    }


# Medians in seconds over the requests of a scenario, as the engine reports them.
KNOWN = {
    "steady": {"prefill": 0.080, "rest": 0.005, "decode": 0.187},
    "overload": {"prefill": 0.094, "rest": 0.050, "decode": 0.387},
    "long half": {"prefill": 0.995, "rest": 0.010, "decode": 0.324},
    "short half": {"prefill": 0.059, "rest": 0.007, "decode": 0.159},
    "aborts": {"prefill": 0.076, "rest": 0.007, "decode": 0.859},
}


def engine_times(database: Database) -> pl.DataFrame:
    """Seconds of each request in queue, prefill, decode and the time that the engine does not explain."""
    return database.sql("""
        SELECT
            CASE
                WHEN units.attributes['scenario']::VARCHAR != 'long_prompts'
                    THEN units.attributes['scenario']::VARCHAR
                WHEN input_tokens > 500 THEN 'long half'
                ELSE 'short half'
            END AS scenario,
            unit_id,
            input_tokens,
            flags,
            coalesce(sum(self_ns) FILTER (WHERE stage = 'eng.queue'), 0) / 1e9 AS queue,
            coalesce(sum(self_ns) FILTER (WHERE stage = 'eng.prefill'), 0) / 1e9 AS prefill,
            coalesce(
                sum(self_ns) FILTER (WHERE operation = 'llm_request' AND "window" = 'ttft'), 0
            ) / 1e9 AS rest,
            coalesce(
                sum(self_ns) FILTER (WHERE operation = 'llm_request/decode'),
                sum(self_ns) FILTER (WHERE operation = 'llm_request' AND "window" = 'decode')
            ) / 1e9 AS decode
        FROM units JOIN unit_stages USING (unit_id)
        WHERE outcome = 'ok'
        GROUP BY ALL
    """)


def test_medians_of_the_engines_stages_are_those_of_the_capture(gateway: Database) -> None:
    """To the millisecond or 4 %; decode that contradicts the e2e counts as the whole decode window."""
    medians = engine_times(gateway).group_by("scenario").agg(pl.col("queue", "prefill", "rest", "decode").median())
    for row in medians.filter(pl.col("scenario") != "warm").iter_rows(named=True):
        known = KNOWN[row["scenario"]]
        assert row["queue"] < 0.001
        assert row["prefill"] == pytest.approx(known["prefill"], rel=0.04)
        assert row["rest"] == pytest.approx(known["rest"], abs=0.001)
        assert row["decode"] == pytest.approx(known["decode"], rel=0.04)


def test_a_few_requests_of_the_overload_waited_in_the_queue(gateway: Database) -> None:
    """The longest for 0.872 s; nobody waited in the steady scenario."""
    longest = dict(engine_times(gateway).group_by("scenario").agg(pl.col("queue").max()).rows())
    assert longest["overload"] == pytest.approx(0.872, abs=0.001)
    assert longest["steady"] < 0.001


def test_half_of_the_rise_of_the_overloads_first_token_is_nobodys(gateway: Database) -> None:
    """vLLM reports nothing before its queue: that time is unattributed, not guessed."""
    medians = dict(engine_times(gateway).group_by("scenario").agg(pl.col("rest").median()).rows())
    ttft = dict(
        gateway.sql(
            "SELECT attributes['scenario']::VARCHAR, median(ttft_ns) / 1e9 FROM units WHERE outcome = 'ok' GROUP BY ALL"
        ).rows()
    )
    share = (medians["overload"] - medians["steady"]) / (ttft["overload"] - ttft["steady"])
    assert 0.3 < share < 0.6


def test_long_prompts_are_size_not_slowness(gateway: Database) -> None:
    """Median prefill by median prompt: 0.8 ms a token against 1.3 ms in the steady scenario."""
    medians = engine_times(gateway).group_by("scenario").agg(pl.col("prefill", "input_tokens").median())
    per_token_ms = {name: 1000 * prefill / tokens for name, prefill, tokens in medians.rows()}
    assert per_token_ms["long half"] == pytest.approx(0.8, abs=0.05)
    assert per_token_ms["steady"] == pytest.approx(1.3, abs=0.05)


def test_contradicting_decode_times_are_counted(gateway: Database) -> None:
    """14 real spans report a decode that exceeds e2e minus TTFT by more than 1 ms + 1 %."""
    flags = gateway.sql("SELECT flags, count(*) FROM units WHERE flags IS NOT NULL GROUP BY ALL")
    assert flags.rows() == [("conflict:decode", 14)]


def test_training_steps_are_units_of_each_rank_and_attempt(training: Database) -> None:
    """Attempt 0 has steps 0 to 57, attempt 1 steps 50 to 79; spans of the job belong to no step."""
    steps = training.sql(
        "SELECT attempt, min(step), max(step), count(*), count(DISTINCT rank), sum(span_count)::INT "
        "FROM units GROUP BY ALL"
    )
    assert set(steps.rows()) == {(0, 0, 57, 4 * 58, 4, 2090), (1, 50, 79, 4 * 30, 4, 1092)}
    assert training.sql("SELECT count(*) FROM spans").item() - 2090 - 1092 == 16


def test_the_step_that_a_rank_died_in_is_not_split(training: Database) -> None:
    """Rank 3 never reached its collective: what the others spent in theirs is waiting or transfer."""
    failed = training.sql("""
        SELECT rank, outcome, flags, sum(self_ns) FILTER (WHERE stage LIKE 'unsplit(%') > 0 AS is_unsplit
        FROM units JOIN unit_stages USING (unit_id)
        WHERE attempt = 0 AND step = 57
        GROUP BY ALL
        ORDER BY rank
    """)
    assert failed.rows() == [(rank, "failed", "ranks_missing", True) for rank in range(3)] + [(3, "failed", None, None)]


def culprits(database: Database, first: int, last: int) -> list[tuple[int, str, str, float]]:
    """Whom the others waited for in steps of attempt 0, and what that rank did: seconds, most first."""
    return database.sql(
        "SELECT culprit_rank, culprit_stage, culprit_operation, sum(wait_ns) / 1e9 AS seconds "
        "FROM units JOIN step_waits USING (unit_id) WHERE attempt = 0 AND step BETWEEN $first AND $last "
        "GROUP BY ALL ORDER BY seconds DESC",
        first=first,
        last=last,
    ).rows()


def test_the_others_wait_for_the_data_loading_of_rank_2(training: Database) -> None:
    """Steps 20 to 29: 150 ms more of data loading on rank 2."""
    assert culprits(training, 20, 29)[0][:3] == (2, "step.data_load", "data_load")


def test_the_others_wait_for_the_forward_of_rank_1(training: Database) -> None:
    """Steps 40 to 49: 120 ms more of forward on rank 1."""
    assert culprits(training, 40, 49)[0][:3] == (1, "step.compute", "forward")


def test_a_stalled_checkpoint_is_time_of_the_checkpoint_on_every_rank(training: Database) -> None:
    """Step 39: all ranks spent 1.5 s in their own span of the checkpoint, and rank 0 was the one that slept.

    No collective shows it: all four begin within 12 ms and end within 1 ms of each other. Whom the others waited for is
    known by what ranks do that all hold the same parameters: rank 0 saves. So what is charged says that it is assumed.
    """
    stalls = training.sql("""
        SELECT rank, sum(self_ns) / 1e9 AS seconds
        FROM units JOIN unit_stages USING (unit_id)
        WHERE attempt = 0 AND step = 39 AND stage = 'job.checkpoint_save'
        GROUP BY rank
        ORDER BY rank
    """)
    assert [rank for rank, _ in stalls.rows()] == [0, 1, 2, 3]
    assert all(1.49 < seconds < 1.52 for _, seconds in stalls.rows())
    rank, stage, operation, seconds = culprits(training, 39, 39)[0]
    assert (rank, stage, operation) == (0, "job.checkpoint_save", "checkpoint_save")
    assert 3 * 1.49 < seconds < 3 * 1.52
    bases = training.sql("SELECT DISTINCT step, basis FROM units JOIN step_waits USING (unit_id) WHERE wait_ns > 0")
    assert bases.filter(pl.col("basis") != "collective").rows() == [(39, "common_end")]


def test_stragglers_names_all_three_that_held_the_others(training: Database) -> None:
    """The save of step 39, the loading of steps 20 to 29, the forward of steps 40 to 49."""
    answer = stragglers(training)
    named = ["rank", "stage", "first_step", "last_step", "is_assumed"]
    assert set(answer.culprits.select(named).rows()) == {
        (0, "job.checkpoint_save", 39, 39, True),
        (2, "step.data_load", 20, 29, False),
        (1, "step.compute", 40, 49, False),
    }
    assert "on rank 0, step 39" in answer.summary
    assert "(all ranks leave it together; that this one writes it is assumed)" in answer.summary


@pytest.mark.parametrize("name", ["gateway", "training"])
def test_owned_windows_of_a_trace_cover_its_units(name: str, request: pytest.FixtureRequest) -> None:
    """What a waterfall draws is disjoint and sums to the units of the trace, stage by stage."""
    database: Database = request.getfixturevalue(name)
    trace_id = database.sql("SELECT trace_id FROM units ORDER BY start_ns LIMIT 1").item()
    shown = operations(database, trace_id=trace_id)
    pieces = shown.select("stage", "owned").explode("owned").drop_nulls().unnest("owned")
    lengths = pieces.group_by("stage").agg((pl.col("end_ns") - pl.col("start_ns")).sum())
    stored = database.sql(
        "SELECT stage, sum(self_ns)::BIGINT FROM units JOIN unit_stages USING (unit_id) "
        "WHERE trace_id = $trace GROUP BY stage",
        trace=trace_id,
    )
    assert set(lengths.rows()) == set(stored.rows())
