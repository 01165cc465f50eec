"""The work of the suite in pieces that a process does alone; each gives rows of figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from generators import corruption, scenarios
from generators.generate import prepare
from generators.serving import state
from tests.accuracy.grid import (
    CHANGES,
    DAMAGED,
    DEFECTS,
    DELAYS,
    DIALECTS,
    FAULTS,
    FULL,
    METRICS,
    REFUSALS,
    SHORT,
    TRAINING,
    Asked,
    Training,
)  # fmt: skip
from tests.accuracy.ledgers import JOB_DEFECTS, lived
from tests.accuracy.ledgers import scored as scored_ledger
from tests.accuracy.outcomes import LOSSES, OUTCOME_SCENARIOS, scored_comparison, scored_outcomes
from tests.accuracy.runs import NS_PER_S, WARM_UP_S, Layout, between, damaged, play, stored
from tests.accuracy.scores import QUESTIONS, said, scored
from tests.accuracy.second_world_intervals import runs as interval_runs
from tests.accuracy.second_world_intervals import scored as scored_intervals
from tests.accuracy.second_world_scores import CALM, settings
from tests.accuracy.second_world_scores import scored as scored_second
from tests.accuracy.serving_whatif import PAIRS, Pair, outcomes
from tracekit.analysis import StragglersAnswer, quality, stragglers, tail
from tracekit.store import Database
from tracekit.wording import culprit_text

Rows = list[dict[str, Any]]
LEDGERS = ("job_life", "job_hang", "job_elastic", "job_slow_registry")
DAMAGED_LEDGER = "job_life"
"""Scenarios of jobs whose ledgers are scored, and the one of them whose telemetry is damaged."""

HEALTHY_WINDOWS = 40
"""Windows of the long healthy run that are asked about, each against all the time before the first of them."""

SECOND_FAMILIES = ("faults", "faults_http", "plain")
"""Runs of the second world with a fault: asked with a baseline, told by plain HTTP spans, and asked without one."""

CALM_RUNS, INTERVAL_RUNS = 5, 144
"""Runs a seed of the second world in which nothing is slower, and runs whose intervals are held against the truth."""

UNSEEN_STAGES = {"step.launch_overhead": "unattributed"}
"""Stages of steps that spans do not show, and what their time is where only spans tell."""


@dataclass(frozen=True)
class Job:
    """A piece of work and the table that its rows belong to."""

    table: str
    work: partial[Rows]

    def __call__(self) -> Rows:
        """Do the work."""
        return self.work()

    def __repr__(self) -> str:
        """The same in every process: what is asked for, and of what."""
        return f"{self.table}: {self.work.func.__name__} {self.work.args} {self.work.keywords}"


def jobs(seeds: tuple[int, ...]) -> list[Job]:
    """All the work of the full suite, the longest pieces first."""
    return [
        Job("healthy", partial(healthy_windows, seed=seeds[0], layout=FULL)),
        *(Job("defects", partial(asked, one, seed=seeds[0], defects=tuple(DEFECTS))) for one in DAMAGED),
        Job("quality", partial(defects_told, seed=seeds[0])),
        *(Job("faults", partial(asked, one, seed=seed)) for seed in seeds for one in FAULTS),
        *(Job("changes", partial(changed, name, seed=seed)) for seed in (*seeds, *_more(seeds)) for name in CHANGES),
        *(Job("delays", partial(asked, one, seed=seeds[-1])) for one in DELAYS),
        *(Job("dialects", partial(asked, one, seed=seeds[-1], dialect=name)) for name in DIALECTS for one in DAMAGED),
        *(Job("refusals", partial(refused, name, seed=seeds[0])) for name in REFUSALS),
        *(Job("outcomes", partial(scored_outcomes, name, seed=seed)) for seed in seeds for name in OUTCOME_SCENARIOS),
        *(
            Job("outcome_dialects", partial(scored_outcomes, name, seed=seeds[0], dialect=dialect))
            for dialect in ("vllm", "sglang", "dynamo", "triton")
            for name in LOSSES
        ),
        *(
            Job("compared", partial(scored_comparison, seed=seed + 100 * number, factor=factor))
            for factor in (1.0, 1.1)
            for seed in seeds
            for number in range(10)
        ),
        *(Job("ledgers", partial(ledgered, name, seed=seed)) for seed in seeds for name in LEDGERS),
        Job("ledgers", partial(ledgered, DAMAGED_LEDGER, seed=seeds[0], defects=tuple(JOB_DEFECTS)[1:])),
        *(Job("serving_whatif", partial(replayed, pair, seed=seed)) for seed in seeds for pair in PAIRS),
        *(Job("stragglers", partial(straggling, one, seed=seed)) for one in TRAINING for seed in seeds),
        *(Job("second_world", partial(second_world, name, first=seeds[0])) for name in SECOND_FAMILIES),
        *(
            Job("second_world", partial(second_world, name, first=100 + seed, seeds=CALM_RUNS))
            for name in CALM
            for seed in seeds
        ),
        *(Job("second_intervals", partial(intervals, first=first)) for first in range(0, INTERVAL_RUNS, 24)),
    ]


def second_world(family: str, *, first: int, seeds: int = 1) -> Rows:
    """Answers about runs of a family of the second world."""
    return [
        {"family": family, **row}
        for setting in settings(family, range(first, first + seeds))
        for row in scored_second(setting, plain=family == "plain")
    ]


def intervals(*, first: int, count: int = 24) -> Rows:
    """Whether intervals hold what faults of the second world did."""
    return [row for setting in interval_runs(count, first) for row in scored_intervals(setting)]


def ledgered(name: str, *, seed: int, defects: Iterable[str] = ("clean",)) -> Rows:
    """The ledger and the first causes of a generated job, under defects one at a time."""
    one = lived(name, seed=seed)
    return [{"label": name, **scored_ledger(one, defect=defect)} for defect in defects]


def replayed(pair: Pair, *, seed: int) -> Rows:
    """What a change of serving would give, against the run in which it is so; a row a metric and quantile."""
    return [
        {
            "label": pair.name,
            "metric": one.metric,
            "quantile": one.quantile,
            "error": abs(one.error),
            "is_held": one.is_held,
        }
        for one in outcomes(pair, seed=seed)
    ]


def _more(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """As many further seeds of the same half."""
    return tuple(seed + 10 for seed in seeds)


def asked(
    one: Asked, *, seed: int, defects: Iterable[str] = ("clean",), layout: Layout = FULL, dialect: str = "tracekit"
) -> Rows:
    """A fault under defects, one at a time: the run is simulated once, its spans are damaged each time anew."""
    played = play(one.scenario, seed=seed, layout=layout, overrides={**one.overrides, "emit.dialect": dialect})
    rows = []
    for defect in defects:
        emission, _ = damaged(played, DEFECTS[defect])
        with stored(emission) as database:
            found = scored(played, emission, database, one.metric)
        label = {"label": one.label, "seed": seed, "defect": defect, "dialect": dialect}
        rows += [label | row for row in found]
    return rows


def healthy_windows(*, seed: int, layout: Layout, windows: int = HEALTHY_WINDOWS) -> Rows:
    """Windows of a healthy run, each asked about like a fault's."""
    whole = Layout(layout.baseline_s, layout.window_s * windows)
    played = play("healthy", seed=seed, layout=whole, overrides={})
    start_ns = int(played.values["run.start_unix_s"]) * NS_PER_S
    _, before = played.conditions()
    first_ns = start_ns + round((WARM_UP_S + layout.baseline_s) * NS_PER_S)
    length_ns = round(layout.window_s * NS_PER_S)
    rows = []
    with stored(played.emission) as database:
        for number in range(windows):
            window = between(first_ns + number * length_ns, first_ns + (number + 1) * length_ns)
            rows += [{"label": "healthy", "seed": seed, **row} for row in _alarms(database, window, before)]
    return rows


def changed(scenario: str, *, seed: int, layout: Layout = FULL) -> Rows:
    """A change of load or mix without fault, asked about by every metric."""
    played = play(scenario, seed=seed, layout=layout, overrides={})
    with stored(played.emission) as database:
        return [{"label": scenario, "seed": seed, **row} for row in _alarms(database, *played.conditions())]


def _alarms(database: Database, window: str, before: str) -> Rows:
    return [
        {"question": name, "metric": metric}
        | said(answer)
        | {"held": _zeros_held(answer.stages), "intervals": _bounded(answer.stages)}
        for metric in METRICS
        for name, quantile in QUESTIONS.items()
        for answer in [tail(database, metric, quantile=quantile, where=window, baseline=before)]
    ]


def _bounded(frame: pl.DataFrame) -> int:
    return frame.filter(pl.col("high_ns") > pl.col("low_ns")).height


def _zeros_held(frame: pl.DataFrame) -> int:
    """Intervals that hold zero, which is the effect where nothing was changed."""
    return frame.filter((pl.col("high_ns") > pl.col("low_ns")) & pl.lit(0).is_between("low_ns", "high_ns")).height


def refused(scenario: str, *, seed: int, layout: Layout = FULL) -> Rows:
    """A fault that ends requests: outcomes against the truth, and whether anybody is blamed for slowness."""
    played = play(scenario, seed=seed, layout=layout, overrides={})
    known = Counter(state.OUTCOMES[code] for code in played.run.requests["outcome"].tolist())
    with stored(played.emission) as database:
        told = Counter(database.sql("SELECT outcome FROM units")["outcome"].to_list())
        found = _alarms(database, *played.conditions())
    wrong = sum(((told - known) + (known - told)).values()) // 2
    return [{"label": scenario, "seed": seed, "outcomes_wrong": wrong, **row} for row in found]


def straggling(one: Training, *, seed: int) -> Rows:
    """A training run: ranks or pipeline stages and their stages that are named against those that were slowed down."""
    model, values = prepare(scenarios.load(one.scenario), overrides=one.overrides)
    emission, truth = model.run(values, seed=seed)
    emission, _ = corruption.apply(emission, values, seed=seed)
    with stored(emission) as database:
        answer = stragglers(database)
    wanted, named = _slowed(truth["culprits"]), _named(answer)
    return [
        {
            "label": one.scenario,
            "struck": one.when,
            "seed": seed,
            "wanted": len(wanted),
            "named": len(named),
            "right": len(wanted & named),
            "is_exact": named == wanted,
        }
    ]


def _slowed(culprits: Rows) -> set[tuple[str, str]]:
    """Whose own work was slowed down, and in which stage, as far as spans show it."""
    who = {
        (place, stage)
        for one in culprits
        for place in [f"rank {rank}" for rank in one["stragglers"]] + [f"pipeline stage {one['pipeline_stage']}"]
        for stage in one["stages"]
        if not place.endswith("None")
    }
    return {(place, UNSEEN_STAGES.get(stage, stage)) for place, stage in who}


def _named(answer: StragglersAnswer) -> set[tuple[str, str]]:
    """Whom the answer names; not what all ranks did together."""
    single = answer.culprits.filter(pl.any_horizontal(pl.col("rank", "pipeline_stage").is_not_null()))
    named = {(culprit_text(row), row["stage"]) for row in single.iter_rows(named=True)}
    heavy = answer.pipeline.filter("is_heavy")["pipeline_stage"]
    return named | {(f"pipeline stage {number}", "step.compute") for number in heavy}


def defects_told(*, seed: int, layout: Layout = SHORT) -> Rows:
    """What `quality` says of each defect alone: its verdict and the checks that are more than a note."""
    played = play("healthy", seed=seed, layout=layout, overrides={})
    rows = []
    for defect, values in DEFECTS.items():
        emission, done = damaged(played, values)
        with stored(emission) as database:
            answer = quality(database)
        loud = answer.checks.filter(pl.col("severity").is_in(["warning", "error"]))["check"].to_list()
        counts = {check: count for check, count in answer.checks.select("check", "count").iter_rows() if count}
        rows.append({"defect": defect, "verdict": answer.verdict, "checks": loud, "counts": counts, "done": done})
    return rows
