"""Where sentences come from: computing gives codes and numbers, `tracekit.wording` registers how they are said."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

WORDING = "tracekit.wording"

Words = TypeVar("Words", bound=Callable[[Any], str])

_WORDS: dict[type, Callable[[Any], str]] = {}


def words_for(kind: type) -> Callable[[Words], Words]:
    """Register a function as the one that puts values of a class into words."""

    def register(say: Words) -> Words:
        _WORDS[kind] = say
        return say

    return register


def in_words(value: object) -> str:
    """A value in words. Raises `LookupError` for a class that nothing was registered for.

    The room of words stands above this one, so it is found by its name, when the first word is asked for.
    """
    if type(value) not in _WORDS:
        import_module(WORDING)
    say = _WORDS.get(type(value))
    if say is None:
        raise LookupError(f"no words for {type(value).__name__}: register some in tracekit.wording")
    return say(value)


def has_words(kind: type) -> bool:
    """Whether values of a class can be put into words."""
    return kind in _WORDS
