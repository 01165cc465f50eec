"""Does the tail analysis keep its promises? False alarms, coverage and power under load swings.

    python -m tests.accuracy.tail_calibration [--runs N]

Each run simulates requests whose queue and decode follow a slowly swinging load, so that neighbours are
alike, and asks the judge of the tail analysis itself (no database in between) whether the windows differ.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np

from tracekit.analysis import (
    REFERENCE,
    TAIL,
    Cohort,
    Judgement,
    MeasuredUnits,
    StageSums,
    band_cohort,
    edge_cohorts,
    judge,
    window_cohort,
)
from tracekit.schema import BODY

STAGES = ["auth", "decode", "network", "prefill", "queue"]
PREFILL = STAGES.index("prefill")


@dataclass(frozen=True)
class Workload:
    """Requests a second apart whose load is an autoregressive process of this length in requests."""

    correlation_requests: float
    load_weight: float = 1.0

    def requests(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Stage times of requests in arrival order: int64[count, 5] nanoseconds."""
        load = self._load(count, random)
        noise = random.lognormal(0, 0.3, (count, 5))
        queue = 4e6 * np.exp(1.2 * self.load_weight * load) * random.exponential(1, count)
        decode = 40e6 * np.exp(0.25 * self.load_weight * load) * noise[:, 1]
        columns = [1e6 * noise[:, 0], decode, 3e6 * noise[:, 2], 22.6e6 * noise[:, 3], queue]
        return np.stack(columns, axis=1).astype(np.int64)

    def _load(self, count: int, random: np.random.Generator) -> np.ndarray:
        memory = np.exp(-1 / self.correlation_requests) if self.correlation_requests > 0 else 0.0
        shocks = random.standard_normal(count) * np.sqrt(1 - memory**2)
        load = np.empty(count)
        level = random.standard_normal()
        for position, shock in enumerate(shocks):
            level = memory * level + shock
            load[position] = level
        return load


def units_of(stage_ns: np.ndarray) -> tuple[MeasuredUnits, np.ndarray]:
    """Requests as the analysis holds them (ordered by duration), and their stage times in the same order."""
    value_ns = stage_ns.sum(axis=1)
    order = np.lexsort((np.arange(len(value_ns)), value_ns))
    unknown = np.full(len(order), -1)
    start_ns = np.arange(len(order), dtype=np.int64) * 1_000_000_000
    units = MeasuredUnits(order, start_ns[order], value_ns[order], np.ones_like(order), unknown, unknown)
    return units, stage_ns[order]


def judged(cohorts: list[Cohort], stage_ns: list[np.ndarray]) -> tuple[np.ndarray, Judgement]:
    """Excess of each stage and of the whole (float64[6], ns) and its judgement, for tail and reference."""
    numbered, edges = list(cohorts), {}
    times = list(stage_ns)
    for number in (TAIL, REFERENCE):
        if cohorts[number].band is not None:
            edges[number] = (len(numbered), len(numbered) + 1)
            numbered += edge_cohorts(cohorts[number])
            times += [stage_ns[number]] * 2
    sums = StageSums(STAGES, [_by_bin(*pair) for pair in zip(numbered, times, strict=True)], [])
    means = [sums.total_ns(number) / cohorts[number].count for number in (TAIL, REFERENCE)]
    excess = means[0] - means[1]
    return np.append(excess, excess.sum()), judge(sums, numbered, edges)


def _by_bin(cohort: Cohort, stage_ns: np.ndarray) -> np.ndarray:
    height = 1024 if cohort.band is not None else int(cohort.bins.max(initial=0)) + 1
    sums = np.zeros((height, len(STAGES)), dtype=np.int64)
    np.add.at(sums, cohort.bins, stage_ns[cohort.positions])
    return sums


def against_body(stage_ns: np.ndarray, quantile: float) -> tuple[np.ndarray, Judgement]:
    """The tail of a window against its own body."""
    units, times = units_of(stage_ns)
    cohorts = [band_cohort(units, lower=quantile), band_cohort(units, lower=BODY[0], upper=BODY[1])]
    return judged(cohorts, [times, times])


def against_window(after: np.ndarray, before: np.ndarray, quantile: float) -> tuple[np.ndarray, Judgement]:
    """The tail of a window against the tail of another, or of many like it where `before` is long enough."""
    (units, times), (base_units, base_times) = units_of(after), units_of(before)
    # The baseline lies before the selection.
    base_units = MeasuredUnits(**{**vars(base_units), "start_ns": base_units.start_ns - 10**18})
    windows = window_cohort(units, base_units, quantile=quantile)
    reference = windows or band_cohort(base_units, lower=quantile)
    return judged([band_cohort(units, lower=quantile), reference], [times, base_times])


@dataclass
class Tally:
    """Counts over runs.

    `answered` of `runs` gave intervals; `alarms`: runs where a stage or the whole was flagged; `top_hits`:
    runs where prefill was flagged and the largest; `covered`: intervals that held the truth, by stage.
    """

    runs: int = 0
    answered: int = 0
    alarms: int = 0
    top_hits: int = 0
    covered: np.ndarray | float = 0.0

    def add(self, excess: np.ndarray, judgement: Judgement, truth: np.ndarray) -> None:
        """Count one run; `truth` is the excess that a very long run has (float64[6])."""
        self.runs += 1
        if judgement.uncertainty is None:
            return
        self.answered += 1
        spread = judgement.uncertainty
        flagged = spread.exceeds(excess)
        self.alarms += bool(flagged.any())
        self.top_hits += bool(flagged[PREFILL] and np.argmax(excess[:-1]) == PREFILL)
        low, high = spread.intervals(excess)
        self.covered = self.covered + ((low <= truth) & (truth <= high))

    def line(self, label: str) -> str:
        """One line of figures."""
        answered = max(self.answered, 1)
        coverage = np.round(np.atleast_1d(self.covered) / answered, 3)
        return (
            f"{label:46s} answered {self.answered}/{self.runs}  flagged {self.alarms / answered:.3f}  "
            f"prefill top {self.top_hits / answered:.2f}  coverage {coverage}"
        )


def false_alarms(workload: Workload, *, runs: int, count: int, quantile: float, baseline: int = 1) -> Tally:
    """Two healthy windows of `count` requests, the second `baseline` times as long."""
    tally = Tally()
    for run in range(runs):
        random = np.random.default_rng(run)
        after, before = workload.requests(count, random), workload.requests(count * baseline, random)
        excess, judgement = against_window(after, before, quantile)
        tally.add(excess, judgement, np.zeros(6))
    return tally


def power(workload: Workload, *, runs: int, count: int, quantile: float, baseline: int = 1) -> Tally:
    """As `false_alarms`, with 15 ms added to prefill in the first window."""
    tally, truth = Tally(), np.zeros(6)
    # A constant shift moves the stage and the whole, and leaves the same requests in the tail.
    truth[[PREFILL, -1]] = 15_000_000
    for run in range(runs):
        random = np.random.default_rng(10_000 + run)
        after, before = workload.requests(count, random), workload.requests(count * baseline, random)
        after[:, PREFILL] += 15_000_000
        excess, judgement = against_window(after, before, quantile)
        tally.add(excess, judgement, truth)
    return tally


def coverage(workload: Workload, *, runs: int, count: int, quantile: float) -> Tally:
    """How often the 95 % intervals of tail against body hold the excess of a very long run."""
    truth, _ = against_body(workload.requests(2_000_000, np.random.default_rng(77)), quantile)
    tally = Tally()
    for run in range(runs):
        tally.add(*against_body(workload.requests(count, np.random.default_rng(run)), quantile), truth)
    return tally


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    for correlation, load_weight, quantile in product((0, 20, 100), (0.5, 1.0), (0.9, 0.99)):
        workload = Workload(correlation, load_weight)
        label = f"correlation {correlation}, swing {load_weight}, p{quantile * 100:.0f}, "
        print(coverage(workload, runs=runs, count=5000, quantile=quantile).line(label + "coverage against body"))
        print(false_alarms(workload, runs=runs, count=5000, quantile=quantile).line(label + "A/A blocks"))
        print(power(workload, runs=runs, count=5000, quantile=quantile).line(label + "+15 ms blocks"))
    for correlation in (100, 500):
        for quantile in (0.9, 0.99):
            workload, label = Workload(correlation), f"correlation {correlation}, p{quantile * 100:.0f}, "
            figures = {"runs": runs // 2, "count": 2000, "quantile": quantile, "baseline": 24}
            print(false_alarms(workload, **figures).line(label + "A/A 24 windows"))
            print(power(workload, **figures).line(label + "+15 ms 24 windows"))


if __name__ == "__main__":
    main()
