"""Objectives as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.requests.slo import PRESETS, Slo, duration_ns, parsed_slo, slo_file, slo_set
from tracekit.errors import UsageError


def test_terms_have_units_and_may_be_left_out() -> None:
    """Each limit is whole nanoseconds."""
    assert parsed_slo("ttft=2s, tpot=50ms,e2e=0.5m") == Slo(ttft_ns=2 * 10**9, tpot_ns=50 * 10**6, e2e_ns=30 * 10**9)
    assert parsed_slo("e2e=1.5us").limits_ns == {"e2e": 1500}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ttft", "no term"), ("", "no term"), ("itl=2s", "no term"), ("ttft=2", "no duration"),
        ("ttft=-2s", "no duration"), ("ttft=0s", "above zero"), ("ttft=0.1ns", "whole nanoseconds"),
        ("ttft=1s,ttft=2s", "twice"), ("ttft=1e3s", "no duration"), ("ttft=99999999999999999s", "above zero"),
        ("ttft=nans", "no duration"),
    ],
)  # fmt: skip
def test_what_is_no_objective_is_refused(text: str, told: str) -> None:
    """The message says what is wrong and how to write it."""
    with pytest.raises(UsageError, match=told):
        parsed_slo(text)


def test_presets_are_those_of_mlperf() -> None:
    """By name, with or without the name of the benchmark before it; figures of `mlperf.conf`."""
    assert parsed_slo("llama2-70b-interactive").limits_ns == {"ttft": 450 * 10**6, "tpot": 40 * 10**6}
    assert parsed_slo("mlperf:gpt-j").limits_ns == {"e2e": 20 * 10**9}
    assert all(parsed_slo(name).limits_ns for name in PRESETS)


@given(st.integers(1, 10**12), st.sampled_from(["ns", "us", "ms", "s"]))
def test_durations_are_exact(number: int, unit: str) -> None:
    """No float comes between the text and the nanoseconds."""
    factor = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    if number * factor <= 2**62:
        assert duration_ns(f"{number}{unit}") == number * factor


def test_a_file_names_classes_and_the_objective(tmp_path: Path) -> None:
    """Classes are chosen by a condition or by values; quotes in values stay values."""
    path = tmp_path / "slo.toml"
    path.write_text(
        "objective = 0.95\n"
        "[[class]]\nname = 'fast'\nslo = 'llama2-70b-interactive'\nmatch = { model = \"it's\", 'tenant.id' = 'a' }\n"
        "[[class]]\nslo = 'e2e=1m'\n",
        encoding="utf-8",
    )
    found = slo_file(path)
    assert found.objective == 0.95
    assert [(one.name, one.where) for one in found.classes] == [
        ("fast", "model = 'it''s' AND attributes['tenant.id']::VARCHAR = 'a'"),
        ("class 2", None),
    ]
    assert slo_set(found.as_dict()) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("objective = 0.9", "no class"), ("[[class]]\nname = 'x'", "no slo"), ("class = 1", "no class"),
        ("[[class]]\nslo = 'e2e=1s'\nlimit = 2", "unknown"), ("objective = 1.5\n[[class]]\nslo = 'e2e=1s'", "no share"),
        ("[[class]]\nslo = 'e2e=1s'\nwhere = 'true'\nmatch = { model = 'm' }", "both"), ("[[", "cannot read"),
        ("[[class]]\nslo = 'e2e=1s'\nwhere = 3", "must be a text"), ("[[class]]\nslo = 'e2e=1s'\nmatch = 3", "a table"),
    ],
)  # fmt: skip
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """At start, with the place."""
    path = tmp_path / "slo.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=told):
        slo_file(path)
