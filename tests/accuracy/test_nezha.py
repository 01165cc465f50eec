"""The answer to `tail` names injected faults in real traces; `nezha.py` prints the figures of all of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.accuracy.nezha import report, scored


@pytest.fixture(scope="module")
def faults(shared_data: Path) -> pl.DataFrame:
    """Every fourth latency fault with what the answer names."""
    return scored(shared_data / "nezha", every=4)


def test_the_first_stage_is_one_of_the_faulty_service_or_leads_to_it(faults: pl.DataFrame) -> None:
    """Of ten faults in ten services two lie where no span is; a random order would name one or two of the others."""
    every, observable = (report(faults).filter(selection=name).row(0, named=True) for name in ("all", "observable"))
    assert (every["faults"], observable["faults"]) == (10, 8)
    assert observable["named"] == 1.0


def test_the_ranking_of_services_puts_it_first(faults: pl.DataFrame) -> None:
    """Own time and edges together, by what is beyond chance."""
    observable = report(faults).filter(selection="observable").row(0, named=True)
    assert observable["ranked first"] >= 0.85
