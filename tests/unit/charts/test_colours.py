"""Colours belong to stages."""

from __future__ import annotations

import colorsys

import pytest

from tracekit.charts import ACCENT, stage_colour
from tracekit.store import Database


@pytest.fixture(scope="module")
def taxonomy() -> dict[str, str]:
    """Every stage with the kind of unit that it belongs to."""
    with Database.open(None) as database:
        return dict(database.sql("SELECT stage, unit_kind FROM stages").iter_rows())


def test_every_stage_of_the_taxonomy_has_a_colour_of_its_own(taxonomy: dict[str, str]) -> None:
    """Two stages of one kind of unit are never drawn alike."""
    for kind in set(taxonomy.values()):
        stages = [stage for stage, of_kind in taxonomy.items() if of_kind in (kind, "any")]
        assert len({stage_colour(stage) for stage in stages}) == len(stages)


def test_no_stage_has_the_colour_of_the_culprit(taxonomy: dict[str, str]) -> None:
    """Red means the culprit and nothing else."""
    colours = [stage_colour(stage) for stage in [*taxonomy, "shop:checkout", "edge:shop->payment"]]
    assert ACCENT not in colours
    assert not any(_is_red(colour) for colour in colours)


def test_an_unknown_stage_keeps_its_colour() -> None:
    """The colour follows from the name, not from what else is on the page."""
    assert stage_colour("shop:checkout") == stage_colour("shop:checkout") == "#c2a04e"


def test_an_unsplit_stage_is_drawn_as_its_first_part() -> None:
    """`unsplit(a|b)` is where `a` would be."""
    assert stage_colour("unsplit(eng.queue|kv.load)") == stage_colour("eng.queue")


def _is_red(colour: str) -> bool:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    hue, _, saturation = colorsys.rgb_to_hls(red, green, blue)
    return saturation > 0.5 and (hue < 0.03 or hue > 0.97)
