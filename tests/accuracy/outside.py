"""Data that nobody wrote for this project: labelled faults and published critical paths, where they are present."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.accuracy import nezha, test_critical_path_cases
from tests.conftest import ROOT

NOT_RUN = "not run"


def folder() -> Path | None:
    """The folder of outside data beside the checkout; None where it is absent."""
    place = Path(os.environ.get("TRACEKIT_SHARED_DATA", ROOT.parent / "shared" / "data"))
    return place if place.is_dir() else None


def nezha_rows() -> list[dict[str, Any]]:
    """What the answer to `tail` names of Nezha's latency faults, by selection; or nothing."""
    place = folder()
    if place is None:
        return []
    return nezha.report(nezha.scored(place / "nezha")).to_dicts()


def critical_path_row() -> dict[str, Any] | None:
    """How many of the published cases are met to the nanosecond; None where they are absent."""
    place = folder()
    if place is None:
        return None
    cases = {case["name"]: case for case in json.loads((place / "criticalpath" / "cases.json").read_text())}
    met = {
        name
        for name, case in cases.items()
        if test_critical_path_cases.answer(case) == test_critical_path_cases.expected(case)
    }
    return {"cases": len(cases), "met": len(met), "not_met": sorted(set(cases) - met)}
