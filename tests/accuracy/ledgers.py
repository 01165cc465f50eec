"""Ledgers and first causes of generated jobs against the truth: what `goodput` and `failures` answer, leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from generators import corruption, scenarios
from generators.generate import prepare
from generators.job.emission import emission as job_emission
from generators.job.life import simulate
from generators.job.truth import truth as job_truth
from generators.spans import Emission
from tests.accuracy.runs import batch_of
from tracekit.analysis import failures, goodput
from tracekit.stages import update_units
from tracekit.store import Database, IngestWriter

NS_PER_S = 1_000_000_000
TOLERANCE_SHARE, TOLERANCE_NS = 0.005, NS_PER_S
"""A leaf is right within this share of its true time, or this long on every accelerator."""

JOB_DEFECTS: dict[str, dict[str, Any]] = {
    "clean": {},
    "missing 1 %": {"corrupt.missing_share": 0.01},
    "missing 5 %": {"corrupt.missing_share": 0.05},
    "missing roots": {"corrupt.missing_parent_share": 1.0},
    "skew 5 ms": {"corrupt.skew_ms": 5.0},
    "skew 1 s": {"corrupt.skew_ms": 1000.0},
    "skew 2 min": {"corrupt.skew_ms": 120_000.0},
    "duplicates": {"corrupt.duplicate_share": 0.1},
    "whole milliseconds": {"corrupt.ms_clock": True},
}


@dataclass(frozen=True, eq=False)
class Lived:
    """A job that was lived, what it sent, and the truth about it."""

    values: Mapping[str, Any]
    emission: Emission
    unit: dict[str, Any]
    seed: int


def lived(scenario: str, *, seed: int, overrides: Mapping[str, Any] | None = None) -> Lived:
    """Simulate a scenario of the job model."""
    _, values = prepare(scenarios.load(scenario), overrides=dict(overrides or {}))
    life = simulate(values, seed=seed)
    sent = job_emission(life, seed=seed)
    return Lived(values, sent, job_truth(life, seed=seed, emission=sent)["units"][0], seed)


@contextmanager
def stored_job(sent: Emission) -> Iterator[Database]:
    """A store in memory with spans, logs and metrics of a job and its units."""
    with Database.open(None, tuning={"threads": "1"}) as database:
        writer = IngestWriter(database, source="generated")
        writer.write(batch_of(sent))
        writer.finish()
        update_units(database)
        yield database


def scored(one: Lived, *, defect: str = "clean") -> dict[str, Any]:
    """How far each leaf is off, whether sums are exact, and how many first causes and culprit hosts are right."""
    sent, _ = corruption.apply(one.emission, dict(one.values) | JOB_DEFECTS[defect], seed=one.seed)
    with stored_job(sent) as database:
        ledger = goodput(database).training
        incidents = failures(database)
        notes = dict(database.sql("SELECT note, text FROM job_notes").rows())
    return {
        "defect": defect,
        "seed": one.seed,
        "notes": notes,
        **_leaves(one, ledger),
        **_causes(one, incidents.training.incidents),
    }


def _leaves(one: Lived, ledger: Any) -> dict[str, Any]:
    true: dict[str, int] = one.unit["stages_ns"]["job"]
    found = {leaf: int(ns) for leaf, ns in ledger.leaves.select("leaf", "ns").iter_rows()}
    off = {leaf: found.get(leaf, 0) - true.get(leaf, 0) for leaf in sorted(found.keys() | true.keys())}
    allowed = TOLERANCE_NS * one.unit["accelerators"]
    wrong = {
        leaf: error / max(true.get(leaf, 0), 1)
        for leaf, error in off.items()
        if abs(error) > max(TOLERANCE_SHARE * true.get(leaf, 0), allowed)
    }
    total = int(ledger.jobs["total_ns"][0])
    return {
        "leaves": len(off), "leaves_wrong": len(wrong), "wrong": wrong,
        "is_exact": sum(found.values()) == total, "total_off_ns": total - one.unit["total_ns"],
        "worst_ns": max(map(abs, off.values())) // one.unit["accelerators"],
    }  # fmt: skip


def _causes(one: Lived, incidents: pl.DataFrame) -> dict[str, Any]:
    true = {told["attempt"]: told["failure"] for told in one.unit["attempts"] if told["failure"]}
    found = {row["attempt"]: row for row in incidents.iter_rows(named=True)}
    both = [(true[key], found[key]) for key in true.keys() & found.keys()]
    right = sum(told["host"] == (row["hosts"][0] if row["hosts"] else None) for told, row in both)
    named = [(told, row) for told, row in both if row["kind"] != "unknown"]
    return {
        "failures": len(true), "found": len(both), "false": len(found.keys() - true.keys()), "hosts_right": right,
        "kinds_told": len(named), "kinds_right": sum(told["kind"] == row["kind"] for told, row in named),
        "owners_right": sum(told["owner"] == row["owner"] for told, row in named),
        "onset_off_ns": max([abs(told["onset_ns"] - row["onset_ns"]) for told, row in both], default=0),
        "declared_off_ns": max([abs(told["declared_ns"] - row["declared_ns"]) for told, row in both], default=0),
    }  # fmt: skip
