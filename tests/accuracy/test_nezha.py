"""The ranking of services finds injected faults in real traces; `nezha.py` has the split and the figures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.accuracy.nezha import ranked_faults, report


@pytest.fixture(scope="module")
def faults(shared_data: Path) -> pl.DataFrame:
    """Every latency fault with the rank of its service."""
    return ranked_faults(shared_data / "nezha")


def figures(faults: pl.DataFrame, selection: str, method: str = "node and edges") -> dict[str, float]:
    """The row of the report for one selection and method."""
    return report(faults).filter(selection=selection, method=method).row(0, named=True)


def test_most_faulty_services_are_ranked_first(faults: pl.DataFrame) -> None:
    """37 latency faults, ten services: a random order has AC@1 0.1 and Avg@5 0.3."""
    everything = figures(faults, "all")
    assert everything["fault_count"] == 37
    assert everything["ac1"] >= 0.86
    assert everything["avg5"] >= 0.91
    assert figures(faults, "any", "chance")["avg5"] == pytest.approx(0.3)


def test_every_fault_that_the_traces_show_is_in_the_first_three(faults: pl.DataFrame) -> None:
    """Three faults lie at services without a span in the fault's traces; nothing can rank those."""
    observable = figures(faults, "all, observable")
    assert observable["fault_count"] == 34
    assert observable["ac3"] == 1.0
    assert observable["ac1"] >= 0.94


def test_the_level_holds_on_the_half_that_fixed_no_threshold(faults: pl.DataFrame) -> None:
    """The held-out half is no worse than the other beyond what one fault of 17 makes."""
    held_out = figures(faults, "held out, observable")
    assert held_out["fault_count"] == 17
    assert held_out["ac1"] >= 0.88
    assert held_out["avg5"] >= 0.96


def test_edges_find_network_delays_that_self_time_cannot(faults: pl.DataFrame) -> None:
    """A delayed service spends no more time itself; its callers wait longer for it."""
    assert figures(faults, "network_delay", "self time")["ac1"] == 0.0
    assert figures(faults, "network_delay")["ac1"] >= 0.78
