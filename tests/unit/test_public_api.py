"""The names that outsiders may rely on."""

from __future__ import annotations

from inspect import ismodule

import tracekit


def test_all_lists_exactly_the_public_names() -> None:
    """What can be imported from the package is what it promises, sorted."""
    public = {name for name, value in vars(tracekit).items() if not name.startswith("_") and not ismodule(value)}
    assert public <= set(tracekit.__all__)
    assert sorted(tracekit.__all__) == tracekit.__all__
    assert all(getattr(tracekit, name) is not None for name in tracekit.__all__)


def test_every_error_is_a_tracekit_error() -> None:
    """One `except` catches everything that tracekit raises on purpose."""
    errors = [getattr(tracekit, name) for name in tracekit.__all__ if name.endswith("Error")]
    assert all(issubclass(error, tracekit.TracekitError) for error in errors)
    assert all(error.__doc__ for error in errors)
