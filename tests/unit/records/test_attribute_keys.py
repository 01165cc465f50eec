"""Keys of JSON objects are found exactly, whatever stands in keys and values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tracekit.records.attribute_keys import attribute_keys

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
objects = st.none() | st.dictionaries(st.text() | st.sampled_from(["a", "b.c"]), values, max_size=5)


def pairs(rows: list[dict[str, Any] | None], groups: list[int], **style: Any) -> list[tuple[int, str]]:
    texts = pa.array([None if row is None else json.dumps(row, **style) for row in rows], pa.string())
    found = attribute_keys(texts, np.array(groups, np.int64))
    return list(zip(found["group"].to_pylist(), found["key"].to_pylist(), strict=True))


@given(rows=st.lists(st.tuples(objects, st.integers(0, 2)), max_size=8), is_spaced=st.booleans())
def test_every_top_level_key_of_a_group_is_found_once(
    rows: list[tuple[dict[str, Any] | None, int]], is_spaced: bool
) -> None:
    """Not what looks like a key inside a string or deeper down, and each key with its own group."""
    style = {"ensure_ascii": is_spaced, "separators": (", ", ": ") if is_spaced else (",", ":")}
    expected = dict.fromkeys((group, key) for row, group in rows for key in (row or {}))
    assert pairs([row for row, _ in rows], [group for _, group in rows], **style) == list(expected)


def test_many_distinct_keys_are_all_found() -> None:
    """The table of keys grows with them."""
    rows = [{f"key {number}": number, "same": "x"} for number in range(5000)]
    found = pairs(rows, [0] * len(rows))
    assert len(found) == 5001
    assert {key for _, key in found} == {"same", *(f"key {number}" for number in range(5000))}


def test_part_of_a_column_has_only_its_own_keys() -> None:
    """A slice does not look at the rows around it."""
    texts = pa.array(['{"a":1}', '{"b":1}', '{"c":1}'])[1:2]
    assert attribute_keys(texts, np.zeros(1, np.int64))["key"].to_pylist() == ["b"]
