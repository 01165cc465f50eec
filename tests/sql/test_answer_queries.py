"""Statements behind the answers: rows in, rows out, and headers that tell the truth."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import duckdb
import polars as pl
import pytest

from tests.sql.headers import named_under
from tests.unit.analysis.rows import Request, write_units
from tracekit import queries
from tracekit.analysis import Selection
from tracekit.store import Database

NAMES = [name for topic in ("tail", "quality", "stragglers") for name in queries.names(topic)]
VALUES: dict[str, object] = {
    "bands": [0, 1],
    "metric": "ttft", "unit_kind": "request", "depends_on": ["input_tokens"], "windows": None, "outcome": "ok",
    "class_limit": 2, "rare_share": 0.5, "stages": ["eng.queue"], "limit": 1,
    "attribute": "tenant", "rest_band": 1, "block_count": 8, "job": None, "spreads": 6.0, "step_share": 0.1,
    "future_tolerance_ns": 1, "past_tolerance_ns": 1, "signal": "traces",
    "jobs": ["job"], "has_hosts": True, "minimum_count": 8, "spread_share": 0.1,
    "is_per_token": False, "unit_limit": 5, "oldest_ns": 1, "prefix": "seen from ", "every": 1, "threshold_ns": 1,
    "fewest_blocks": 2, "most_blocks": 4, "one_in": 1,
}  # fmt: skip


@pytest.fixture
def selection() -> Iterator[Selection]:
    """A selection with the temporary relations of a tail question over three requests."""
    units = [
        Request([("ttft", "eng.queue", 10), ("ttft", "eng.prefill", 5)], attributes={"tenant": "a"}),
        Request([("ttft", "eng.queue", 20), ("decode", "eng.decode", 40)], attributes={"tenant": "b"}, start_ns=8),
        Request([("ttft", "eng.queue", 30)], outcome="failed"),
    ]
    with (
        Database.open(None) as database,
        Selection(write_units(database, units), "ttft", baseline="model = 'm'") as opened,
    ):
        members = {"unit_id": [0, 1], "band": [1, 0], "bin": [0, 1023], "class_id": [1, 1], "weight": [1.0, 1.0]}
        opened.register("tail_members", pl.DataFrame(members))
        opened.register("tail_course", pl.DataFrame(members))
        opened.create_table("tail_stage_rows", "tail/stage_rows", windows=["ttft"])
        opened.create_table("tail_sampled", "tail/sampled_units", unit_limit=5)
        opened.create_table("tail_hosts", "tail/unit_hosts", rest_band=1)
        calls = {"windows": ["ttft"], "is_per_token": False, "fewest_blocks": 2, "most_blocks": 4}
        opened.create_table("tail_whose", "tail/whose_units", stages=["eng.queue"], **calls)
        opened.create_table("tail_calls", "tail/call_rows", **calls)
        opened.create_table("tail_attributes", "tail/attribute_rows", rest_band=1, block_count=8)
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_headers_name_the_parameters_and_columns_of_the_statement(selection: Selection, name: str) -> None:
    """What a header says is what DuckDB sees."""
    text = queries.text(name)
    parameters = sorted(duckdb.extract_statements(text)[0].named_parameters)
    if name == "tail/kind_times":
        selection.create_table("tail_attributes", "tail/sampled_attributes", one_in=1)
    found = selection.rows(name, **{parameter: VALUES[parameter] for parameter in parameters})
    assert sorted(named_under(text, "Parameters")) == parameters
    assert named_under(text, "Columns") == found.columns


def test_every_unit_has_a_row_for_each_stage_that_is_asked_about(selection: Selection) -> None:
    """Units that never had the stage have zero; those that do not enter have no row."""
    found = selection.rows(
        "tail/whose_units", windows=None, stages=["eng.decode", "eng.queue"], is_per_token=False, fewest_blocks=2,
        most_blocks=4,
    )  # fmt: skip
    mine = found.filter(side=0).sort("unit_id", "stage").select("unit_id", "stage", "self_ns").rows()
    assert mine == [(0, "eng.decode", 0), (0, "eng.queue", 10), (1, "eng.decode", 40), (1, "eng.queue", 20)]


def test_time_of_a_stage_is_told_by_value_of_an_attribute(selection: Selection) -> None:
    """Each tenant's own mean, on both sides."""
    found = selection.rows("tail/whose_attribute", attribute="tenant")
    logs = [round(1e6 * log(1 + self_ns / 15)) for self_ns in (10, 10, 20, 20)]
    assert found["log_sum"].to_list() == logs
    assert found["log_square_sum"].to_list() == [part**2 for part in logs]
    assert found.select("value", "side", "unit_count", "sum_ns").rows() == [
        ("a", 0, 1, 10), ("a", 1, 1, 10), ("b", 0, 1, 20), ("b", 1, 1, 20),
    ]  # fmt: skip


def test_units_carry_their_metric_and_why_they_are_left_out(selection: Selection) -> None:
    """Both sides hold all requests; the failed one does not enter; prompts are classed by powers of two."""
    columns = "side, unit_id, value_ns, input_bucket, output_bucket, left_out"
    found = selection.sql(f"SELECT {columns} FROM tail_units ORDER BY side, unit_id").rows()
    assert found[:3] == [
        (0, 0, 15, 3, -1, None),
        (0, 1, 20, 3, -1, None),
        (0, 2, 30, 3, -1, "outcome failed"),
    ]
    assert [row[0] for row in found] == [0, 0, 0, 1, 1, 1]


def test_stage_rows_keep_to_the_window_of_the_metric(selection: Selection) -> None:
    """Decode has no part in the time to the first token, and other units have no rows."""
    found = selection.sql("SELECT unit_id, stage, self_ns FROM tail_stage_rows ORDER BY ALL").rows()
    assert found == [(0, "eng.prefill", 5), (0, "eng.queue", 10), (1, "eng.queue", 20)]


def test_rare_classes_share_one_number(three_models: Selection) -> None:
    """With room for two classes the third is class 0."""
    found = three_models.rows("tail/classes", class_limit=2)
    assert found.select("population", "class_id").rows() == [
        ("gateway POST a", 1),
        ("gateway POST b", 2),
        ("gateway POST c", 0),
    ]


@pytest.fixture
def three_models() -> Iterator[Selection]:
    """Three models with three, two and one requests."""
    models = ["a", "a", "a", "b", "b", "c"]
    units = [Request([("ttft", "x", 1)], model=model) for model in models]
    with Database.open(None) as database, Selection(write_units(database, units), "ttft") as opened:
        yield opened


def test_every_stage_has_an_owner(selection: Selection) -> None:
    """Of the taxonomy, of an edge, of a service's own operation, and of parts that cannot be told apart."""
    stages = [
        "eng.queue",
        "edge:a->b",
        "cart:GET /items",
        "unsplit(eng.queue|out.stream)",
        "unsplit(step.compute|step.slow_compute)",
    ]
    found = selection.rows("tail/stage_owners", stages=stages)
    assert dict(found.select("stage", "owner").iter_rows()) == {
        "eng.queue": "platform",
        "edge:a->b": "platform",
        "cart:GET /items": "application",
        "unsplit(eng.queue|out.stream)": "platform",
        "unsplit(step.compute|step.slow_compute)": "application|provider",
    }


def test_exemplars_have_the_most_time_in_the_stage(selection: Selection) -> None:
    """Only units of the tail, with the time they spent in the stage."""
    found = selection.rows("tail/exemplars", limit=1)
    assert found.select("stage", "unit_id", "value_ns", "self_ns").rows() == [("eng.queue", 1, 20, 20)]


def test_attribute_values_are_counted_in_tail_and_rest(selection: Selection) -> None:
    """The last slice of time is the last block."""
    found = selection.rows("tail/difference_attribute", attribute="tenant").drop("nested_count")
    assert found.rows() == [("tenant", "a", 0, 0, 1), ("tenant", "b", 7, 1, 0)]
