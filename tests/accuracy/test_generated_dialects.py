"""Whatever software tells the story, its stages are recovered where it shows them and never guessed where not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tracekit as tk
from generators.generate import generate

GATEWAY = {"gw.ingress", "gw.auth", "gw.ratelimit", "gw.cache", "gw.route"}
SHOWN = {
    "tracekit": GATEWAY | {"net.dispatch", "fe.preprocess", "fe.dispatch", "eng.queue", "eng.prefill", "out.detok"},
    "vllm": GATEWAY | {"net.dispatch", "eng.queue", "eng.prefill"},
    "sglang": GATEWAY | {"net.dispatch", "fe.preprocess", "fe.dispatch", "eng.queue", "eng.prefill"},
    "dynamo": {"gw.route", "net.dispatch", "eng.queue", "eng.prefill"},
    "triton": GATEWAY | {"net.dispatch", "fe.preprocess", "eng.queue"},
    "litellm": GATEWAY,
}
"""Stages before the first token that each dialect tells."""
HONEST = {"unattributed", "upstream", "out.stream"}
"""What may stand beside them: time that nobody explains, a provider's, and the way of the first token back."""
ALSO = {"dynamo": {"gw.ingress", "fe.dispatch"}}
"""The frontend of Dynamo has authentication, quota and cache in its own time."""


def stored(folder: Path, scenario: str, dialect: str, **overrides: object) -> tuple[tk.Store, pl.DataFrame]:
    """The store of a generated run, and the true nanoseconds by trace, window and stage."""
    settings = {"emit.dialect": dialect, "run.duration_s": 12.0, "fault.start_s": 3.0, "fault.duration_s": 6.0}
    more = {name.replace("__", "."): value for name, value in overrides.items()}
    told = generate(scenario, seed=5, overrides=settings | more, out=folder / "run").content
    store = tk.open(folder / "run.duckdb")
    store.ingest(folder / "run" / "traces.jsonl")
    rows = [
        (unit["trace_id"], window, stage, spent)
        for unit in told["units"] for window, stages in unit["stages_ns"].items() for stage, spent in stages.items()
    ]  # fmt: skip
    return store, pl.DataFrame(rows, schema=["trace_id", "window", "stage", "true_ns"], orient="row")


def compared(store: tk.Store, truth: pl.DataFrame, window: str) -> pl.DataFrame:
    """By trace and stage of a window: measured and true nanoseconds, 0 where one side has none."""
    measured = store.sql(
        "SELECT trace_id, stage, sum(self_ns)::BIGINT AS measured_ns FROM unit_stages JOIN units USING (unit_id) "
        f"WHERE unit_stages.\"window\" = '{window}' GROUP BY ALL"
    )
    mine = truth.filter(pl.col("window") == window).drop("window")
    return mine.join(measured, on=["trace_id", "stage"], how="full", coalesce=True).fill_null(0)


def totals(store: tk.Store, truth: pl.DataFrame, window: str) -> dict[str, tuple[int, int]]:
    """True and measured nanoseconds of all requests by stage."""
    sums = compared(store, truth, window).group_by("stage").agg(pl.col("true_ns", "measured_ns").sum())
    return {stage: (true_ns, measured_ns) for stage, true_ns, measured_ns in sums.iter_rows()}


@pytest.mark.parametrize("dialect", list(SHOWN))
def test_stages_that_a_dialect_shows_are_recovered_and_others_are_not_guessed(tmp_path: Path, dialect: str) -> None:
    """Mean absolute error of each shown stage within 1 % of the mean TTFT; all else is unsplit or unexplained."""
    store, truth = stored(tmp_path, "slow_worker", dialect)
    with store:
        found = compared(store, truth, "ttft")
    requests = truth["trace_id"].n_unique()
    mean_ttft = found["true_ns"].sum() / requests
    error = found.group_by("stage").agg(error=(pl.col("measured_ns") - pl.col("true_ns")).abs().sum() / requests)
    errors = dict(error.iter_rows())
    assert max(errors[stage] for stage in SHOWN[dialect]) <= 0.01 * mean_ttft
    named = set(found.filter(pl.col("measured_ns") > 0)["stage"])
    named = {stage for stage in named if not stage.startswith("unsplit(")}
    assert named <= SHOWN[dialect] | HONEST | ALSO.get(dialect, set())
    assert found["measured_ns"].sum() == found["true_ns"].sum()


def test_sglangs_split_prefill_and_decode_tell_the_transfer(tmp_path: Path) -> None:
    """The decode side's wait is what the prefill side did: queue, prefill, handshake and transfer to the nanosecond."""
    store, truth = stored(tmp_path, "slow_kv_link", "sglang")
    with store:
        sums = totals(store, truth, "ttft")
    for stage in ("eng.queue", "eng.prefill", "kv.bootstrap", "kv.transfer", "eng.decode_wait", "net.dispatch"):
        assert sums[stage][0] == sums[stage][1] > 0, stage


def test_sglangs_preemptions_are_told_by_events(tmp_path: Path) -> None:
    """Waiting after a retraction and the prefill that repeats, inside decoding."""
    more = {"engine__kv_tokens": 16000, "clients__rate_per_s": 40.0}
    store, truth = stored(tmp_path, "healthy", "sglang", **more)
    with store:
        sums = totals(store, truth, "decode")
    for stage in ("eng.preempt_wait", "eng.recompute"):
        assert sums[stage][1] == pytest.approx(sums[stage][0], rel=0.01)
        assert sums[stage][0] > 0


def test_dynamos_migrations_waste_only_what_was_repeated(tmp_path: Path) -> None:
    """Requests that had tokens go on with them: decoding on the dead worker stays decoding."""
    store, truth = stored(tmp_path, "worker_crash", "dynamo", clients__rate_per_s=20.0)
    with store:
        sums = totals(store, truth, "decode")
    assert sums["retry"][1] == pytest.approx(sums["retry"][0], rel=0.01)
    assert sums["eng.recompute"][1] == pytest.approx(sums["eng.recompute"][0], rel=0.02)
