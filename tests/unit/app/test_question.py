"""Filters of the tail page become one SQL condition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from investigation.question import attribute_condition
from investigation.scope import Filters, address_moment, literal, moment_ns

from tracekit.store import Database


@pytest.fixture(scope="module")
def database() -> Database:
    """An empty store, to evaluate conditions in."""
    return Database.open(None)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_a_literal_is_the_text_itself(database: Database, text: str) -> None:
    """No value can leave its quotes."""
    assert database.sql(f"SELECT {literal(text)} AS value")["value"].item() == text


def test_no_filter_is_no_condition() -> None:
    """An empty question asks about all units."""
    assert Filters().sql() is None


def test_filters_are_joined_by_and() -> None:
    """A user's own condition is one unit, and a comment at its end swallows nothing after it."""
    filters = Filters(service="gw", model="it's", since_ns=5, until_ns=9, condition="a OR b -- why")
    assert filters.sql() == (
        "service_name = 'gw' AND model = 'it''s' AND start_ns >= 5 AND start_ns < 9 AND (a OR b -- why\n)"
    )


def test_numbers_are_compared_as_they_are_shown(database: Database) -> None:
    """An attribute that is a number matches by its text; text matches as text."""
    rows = "(VALUES ({'n': 499, 's': 'x'}::VARIANT)) AS units (attributes)"
    for condition in (
        attribute_condition("n", "499", is_text=False),
        attribute_condition("s", "x", is_text=True),
    ):
        assert database.sql(f"SELECT count(*) AS found FROM {rows} WHERE {condition}")["found"].item() == 1


def test_a_kind_of_units_has_only_the_filters_that_fit_it() -> None:
    """Steps have no model and no tenant, requests no job; what was left out is told by name."""
    filters = Filters(model="m", job="j", tenant="t", tenant_key="tenant.id", service="s", outcome="failed")
    assert filters.of("step").sql() == "service_name = 's' AND job_id = 'j'"
    assert filters.of("request").sql() == (
        "service_name = 's' AND model = 'm' AND attributes['tenant.id']::VARCHAR = 't'"
    )
    assert (filters.not_of("step"), filters.not_of("request")) == (["model", "tenant"], ["job"])
    assert Filters(outcome="failed").sql_with_outcome() == "outcome = 'failed'"


@given(st.integers(0, 2**62))
def test_a_time_in_the_address_is_exact(ns: int) -> None:
    """What a chart hands over comes back as it was, to the nanosecond."""
    assert moment_ns(address_moment(ns)) == ns


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-01-01T25:00", "2026-01-01T00:00:00+02:00", "1"])
def test_what_is_no_time_is_none(text: str) -> None:
    """Nothing is guessed."""
    assert moment_ns(text) is None
