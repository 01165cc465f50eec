"""Parameters: documented, checked before anything runs."""

from __future__ import annotations

import pytest

from generators import corruption, scenarios
from generators.generate import prepare
from generators.parameters import Parameter, assignments, flattened, resolve
from generators.serving.parameters import MODEL
from tracekit.errors import UsageError

TABLE = (
    Parameter("engine.replicas", 2, "replicas", "assumption", 1, 8),
    Parameter("engine.factor", 1.5, "factor", "assumption"),
    Parameter("engine.is_fast", False, "speed", "assumption"),
    Parameter("engine.router", "a", "router", "assumption", choices=("a", "b")),
)


def test_values_from_text_and_from_toml_mean_the_same() -> None:
    """The command line gives text, a scenario file gives numbers."""
    text = resolve(TABLE, {"engine.replicas": "3", "engine.factor": "2", "engine.is_fast": "true"}, where="test")
    toml = resolve(TABLE, {"engine.replicas": 3, "engine.factor": 2.0, "engine.is_fast": True}, where="test")
    assert text == toml == {
        "engine.replicas": 3, "engine.factor": 2.0, "engine.is_fast": True, "engine.router": "a"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("engine.replicsa", "engine.replicas"),
        ("replicas", "engine.replicas"),
        ("engine.rooter", "engine.router"),
    ],
)
def test_an_unknown_parameter_is_refused_with_the_nearest_name(name: str, suggestion: str) -> None:
    """A typing error must not run the wrong experiment in silence."""
    with pytest.raises(UsageError, match=f"did you mean '{suggestion}'"):
        resolve(TABLE, {name: 1}, where="test")


def test_a_name_like_no_other_points_to_the_list() -> None:
    """Where nothing is near, no guess is made."""
    with pytest.raises(UsageError, match="--list"):
        resolve(TABLE, {"zzz.qqq": 1}, where="test")


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("engine.replicas", 0, "a whole number from 1 to 8"),
        ("engine.replicas", 9, "a whole number from 1 to 8"),
        ("engine.replicas", "2.5", "a whole number from 1 to 8"),
        ("engine.replicas", True, "a whole number from 1 to 8"),
        ("engine.factor", -1, "a number from 0"),
        ("engine.factor", "nan", "a number from 0"),
        ("engine.factor", "much", "a number from 0"),
        ("engine.is_fast", "perhaps", "true or false"),
        ("engine.router", "c", "one of a, b"),
    ],
)
def test_a_value_out_of_range_is_refused_and_told_what_is_accepted(name: str, value: object, accepted: str) -> None:
    """Negative rates, fractions of replicas and words for numbers stop before anything is written."""
    with pytest.raises(UsageError, match=accepted):
        resolve(TABLE, {name: value}, where="test")


def test_settings_need_an_equals_sign() -> None:
    """`--set name` alone is a mistake."""
    assert assignments(["a.b=1", "c = x=y"]) == {"a.b": "1", "c": "x=y"}
    with pytest.raises(UsageError, match="name=value"):
        assignments(["a.b"])


def test_nested_tables_become_dotted_names() -> None:
    """A scenario file groups parameters in tables."""
    assert flattened({"engine": {"replicas": 2}, "x": 1}) == {"engine.replicas": 2, "x": 1}


def test_every_parameter_is_documented_and_accepts_its_own_default() -> None:
    """The table is the documentation: meaning, source, unit in the name."""
    for parameter in (*MODEL, *corruption.PARAMETERS):
        assert parameter.meaning
        assert parameter.source
        assert parameter.parse(parameter.default, where="default") == parameter.default


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"engine.kv_tokens": 4000}, "the longest request needs"),
        ({"disagg.prefill_replicas": 1}, "go together"),
        ({"fault.replica": 2}, "does not exist"),
        ({"engine.max_num_batched_tokens": 100}, "could not decode"),
        ({"fault.crash": True, "fault.start_s": 500}, "after the run"),
    ],
)
def test_an_impossible_configuration_is_refused(overrides: dict[str, object], message: str) -> None:
    """A batch larger than the KV cache or a fault on a replica that is not there cannot run."""
    with pytest.raises(UsageError, match=message):
        prepare(scenarios.load("healthy"), overrides=overrides)
