"""The first row of each key, against the plain definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.kernels.hash_table import first_rows

ROWS = st.integers(1, 3).flatmap(
    lambda words: st.lists(st.tuples(*[st.integers(0, 3) | st.just(2**64 - 1)] * words), max_size=60).map(
        lambda rows: np.array(rows, np.uint64).reshape(-1, words)
    )
)


@given(ROWS)
def test_every_row_names_the_first_row_with_its_key(keys: np.ndarray) -> None:
    """Equal keys share one number, the position of their first appearance."""
    seen: dict[tuple[int, ...], int] = {}
    expected = [seen.setdefault(tuple(row), position) for position, row in enumerate(keys.tolist())]
    assert first_rows(keys).tolist() == expected


def test_many_keys_that_differ_in_few_bits_stay_apart() -> None:
    """Counting ids, as some senders give, are as good as random ones."""
    keys = np.arange(100_000, dtype=np.uint64).reshape(-1, 1) << np.uint64(40)
    assert np.array_equal(first_rows(keys), np.arange(100_000))
