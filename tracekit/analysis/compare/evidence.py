"""How far a comparison can be trusted: what is known to be wrong with the requests of both sides."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.compare.sides import Compared
from tracekit.analysis.coverage import coverage_findings
from tracekit.analysis.evidence import Evidence, evidence_of
from tracekit.analysis.population import IMPLAUSIBLE, OTHER_LAYER
from tracekit.store import Database

_NO_SUM = "vantage_count"
"""Both sides seen from one vantage point are seen from one."""


def compared_evidence(databases: tuple[Database, Database], compared: Compared) -> Evidence:
    """Judge the requests of both sides together, by the checks of all answers."""
    first, second = compared.counts
    counts = {
        name: max(value, second[name]) if name == _NO_SUM else value + second[name] for name, value in first.items()
    }
    counts["selected_count"] = counts["unit_count"]
    left_out = compared.left_out
    counts["implausible_count"] = left_out.get(IMPLAUSIBLE, 0)
    stores = {id(database): database for database in databases}.values()
    return evidence_of(
        counts,
        pl.concat([database.query("quality/arrival_checks", signal="traces") for database in stores]),
        left_out_count=sum(left_out.values()),
        missing_count=0,
        unseen=[
            finding for database in stores for finding in coverage_findings(database, unit_count=counts["unit_count"])
        ],
        other_layers={reason: count for reason, count in left_out.items() if reason.startswith(OTHER_LAYER)},
    )
