"""Where sentences and pictures come from: computing gives codes and numbers, `tracekit.wording` registers how they are
said, `tracekit.charts` how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import polars as pl

from tracekit.foreign import LONGEST_NAME, named, plain, plain_frame

WORDING = "tracekit.wording"
CHARTS = "tracekit.charts"

Words = TypeVar("Words", bound=Callable[[Any], str])

Picture = TypeVar("Picture", bound=Callable[[Any], Any])

_WORDS: dict[type, Callable[[Any], str]] = {}
_PICTURES: dict[type, Callable[[Any], Any]] = {}


def words_for(kind: type) -> Callable[[Words], Words]:
    """Register a function as the one that puts values of a class into words."""

    def register(say: Words) -> Words:
        _WORDS[kind] = say
        return say

    return register


def in_words(value: object) -> str:
    """A value in words, in which foreign names are text and bounded (`tracekit.foreign`).

    Raises `LookupError` for a class that nothing was registered for.

    The room of words stands above this one, so it is found by its name, when the first word is asked for.
    """
    if type(value) not in _WORDS:
        import_module(WORDING)
    say = _WORDS.get(type(value))
    if say is None:
        raise LookupError(f"no words for {type(value).__name__}: register some in tracekit.wording")
    return plain(say(_Said(value)), keep="\n")


def picture_for(kind: type) -> Callable[[Picture], Picture]:
    """Register a function as the one that draws values of a class."""

    def register(draw: Picture) -> Picture:
        _PICTURES[kind] = draw
        return draw

    return register


def in_picture(value: object) -> Any:
    """A value as a chart; None where it has nothing to draw, or its class no picture."""
    if type(value) not in _PICTURES:
        import_module(CHARTS)
    draw = _PICTURES.get(type(value))
    return None if draw is None else draw(value)


class Drawn:
    """What can be shown as a chart."""

    def chart(self) -> Any:
        """The chart that the app shows of this answer, for a notebook: an `altair.Chart`, or None where there is
        nothing to draw.

        Tails have their excess by stage, ledgers of jobs their leaves, requests against an SLO how each counts, a
        metric its course. Save one with `chart.save("tail.html")`.

        >>> chart = store.tail("ttft").chart()
        >>> type(chart).__module__.split(".")[0], store.quality().chart()
        ('altair', None)
        """
        return in_picture(self)


def has_words(kind: type) -> bool:
    """Whether values of a class can be put into words."""
    return kind in _WORDS


class _Said:
    """A value as sentences see it: the names in its texts and frames are made text, and cut where they are long."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._value, name)
        if isinstance(found, pl.DataFrame):
            return plain_frame(found, longest=LONGEST_NAME)
        if isinstance(found, str):
            return found if name in _OWN_TEXTS else named(found)
        if name not in _OWN_TEXTS and isinstance(found, tuple) and any(isinstance(each, str) for each in found):
            return tuple(named(each) if isinstance(each, str) else each for each in found)
        return found


# Sentences that are made of such values already.
_OWN_TEXTS = {"summary", "message", "reasons"}
