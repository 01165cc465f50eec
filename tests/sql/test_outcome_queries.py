"""Statements about the outcomes of requests: headers that tell the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from tests.sql.headers import named_under
from tests.unit.analysis.rows import Request, write_units
from tracekit import queries
from tracekit.analysis.requests.goodput import judge_requests
from tracekit.analysis.requests.missed_stages import lost_by_stage
from tracekit.analysis.requests.slo import SloSet, parsed_slo
from tracekit.analysis.temporary import create_table
from tracekit.store import Database

NAMES = [
    name
    for topic in ("goodput", "failures")
    for name in queries.names(topic)
    # Dumps of collectives are about jobs.
    if not name.startswith("failures/dump")
]
VALUES: dict[str, object] = {
    "is_e2e_to_last_token": False, "needs_two_tokens": False, "slice_ns": 1, "keys": ["tenant.id"], "key": "tenant.id",
    "what": "host", "slack_ns": 1, "reach_ns": 1, "quiet_ns": 1, "endings": ["failed"], "windows": ["ttft"],
}  # fmt: skip


@pytest.fixture(scope="module")
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor with the temporary relations of both questions over four requests."""
    good = Request([("ttft", "eng.queue", 10), ("decode", "eng.decode", 5)], attributes={"tenant.id": "a"})
    units = [*[good] * 5, replace(good, stages=[("ttft", "eng.queue", 900)]), replace(good, outcome="failed")]
    with Database.open(None) as database:
        opened = write_units(database, units).cursor()
        judge_requests(opened, SloSet((parsed_slo("ttft=100ns"),)), where=None)
        lost_by_stage(opened)
        tables = {
            "request_values": "goodput/models", "goodput_servers": "goodput/servers", "failure_spans": "failures/spans",
            "failure_reached": "failures/reached", "failure_origins": "failures/origins",
            "failure_causes": "failures/first_causes", "failure_collateral": "failures/collateral",
            "incident_members": "failures/incident_members", "failure_incidents": "failures/incidents",
        }  # fmt: skip
        for table, name in tables.items():
            create_table(opened, table, name, values(name))
        yield opened
        opened.close()


def values(name: str) -> dict[str, object]:
    """Values for the parameters of a statement."""
    return {key: VALUES[key] for key in duckdb.extract_statements(queries.text(name))[0].named_parameters}


@pytest.mark.parametrize("name", NAMES)
def test_headers_name_the_parameters_and_columns_of_the_statement(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """What a header says is what DuckDB sees."""
    text = queries.text(name)
    relation = cursor.sql(text, params=values(name) or None)
    assert sorted(named_under(text, "Parameters")) == sorted(values(name))
    assert named_under(text, "Columns") == relation.columns
