"""The documentation page says what the code does."""

from __future__ import annotations

from pathlib import Path

from generators import scenarios
from generators.job.parameters import MODEL as JOB
from generators.reference import PAGE, with_tables
from generators.serving.parameters import DIALECTS, MODEL
from generators.training.parameters import MODEL as TRAINING


def test_the_page_is_up_to_date() -> None:
    """`python -m generators.reference` writes the tables; nobody edits them by hand."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page


def test_the_page_names_every_scenario_parameter_and_dialect() -> None:
    """Nothing exists that is not explained."""
    page = PAGE.read_text(encoding="utf-8")
    for name in (*scenarios.names(), *(parameter.name for parameter in (*MODEL, *TRAINING, *JOB)), *DIALECTS):
        assert f"`{name}`" in page


def test_scenario_files_stay_small() -> None:
    """A scenario is read at a glance."""
    for path in Path(scenarios.FOLDER).glob("*.toml"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 30
