"""The names that outsiders may rely on."""

from __future__ import annotations

import tracekit


def test_all_lists_exactly_the_public_names() -> None:
    """What can be imported from the package is what it promises, sorted; what loads late is there, too."""
    assert sorted(tracekit.__all__) == tracekit.__all__
    ours = {name for name, value in vars(tracekit).items() if is_ours(value) and not name.startswith("_")}
    assert ours <= set(tracekit.__all__)
    assert all(is_ours(getattr(tracekit, name)) for name in tracekit.__all__)


def is_ours(value: object) -> bool:
    """Whether tracekit defines this class or function."""
    return str(getattr(value, "__module__", "")).startswith("tracekit")


def test_every_error_is_a_tracekit_error() -> None:
    """One `except` catches everything that tracekit raises on purpose."""
    errors = [getattr(tracekit, name) for name in tracekit.__all__ if name.endswith("Error")]
    assert all(issubclass(error, tracekit.TracekitError) for error in errors)
    assert all(error.__doc__ for error in errors)
