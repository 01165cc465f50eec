"""The hash table finds each key once, whatever the secret, and nobody can choose keys that make it slow."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.otlp.documents import attribute, span, traces
from tracekit.kernels import allocating
from tracekit.kernels.hash_table import KeyTable, find, grown, hash_bytes, holds, key_table, keys_in_order, put
from tracekit.otlp import Document, decode
from tracekit.otlp.tables import reading
from tracekit.otlp.tables.json_columns import attribute_column

WORD = 1 << 64
PUBLIC_FACTOR = 0x9E3779B97F4A7C15
"""What an unseeded hash was made with: it is no secret, so collisions under it can be written down."""


@allocating
def put_all(table: KeyTable, buffer: np.ndarray, groups: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> KeyTable:
    for row in range(groups.size):
        hashed, _ = hash_bytes(buffer, starts[row], sizes[row], table.secret)
        slot = find(table, buffer, groups[row], starts[row], sizes[row], hashed)
        if not holds(table, slot):
            put(table, slot, groups[row], starts[row], sizes[row])
            if 2 * table.count[0] == table.slots.size:
                table = grown(table, buffer)
    return table


def filled(keys: list[tuple[int, bytes]], secret: tuple[int, int]) -> tuple[KeyTable, np.ndarray]:
    """A table that held few keys at first, with all of these, and its buffer."""
    buffer = np.frombuffer(b"".join(key for _, key in keys) + bytes(8), np.uint8).copy()
    sizes = np.array([len(key) for _, key in keys], np.int64)
    starts = np.cumsum(sizes) - sizes
    table = key_table(4, secret=np.array(secret, np.uint64) | np.uint64(1))
    return put_all(table, buffer, np.array([group for group, _ in keys], np.int64), starts, sizes), buffer


def folded(left: int, right: int) -> int:
    product = left * right
    return product % WORD ^ product // WORD


def steps(table: KeyTable, buffer: np.ndarray) -> int:
    """How many slots are passed in all to find each key of a table once, beyond the first slot of each."""
    passed, mask, factor = 0, table.slots.size - 1, int(table.secret[1])
    for place in np.flatnonzero(table.slots["group"] >= table.oldest[0]).tolist():
        slot = table.slots[place]
        hashed = int(hash_bytes(buffer, int(slot["start"]), int(slot["size"]), table.secret)[0]) % WORD
        home = folded(hashed ^ int(slot["group"]), factor) & mask
        passed += (place - home) & mask
    return passed


def colliding_keys(count: int) -> list[bytes]:
    """Printable keys of 16 bytes that all had the same hash while it was unseeded."""
    random = np.random.default_rng(3)
    factor, found = np.uint64(PUBLIC_FACTOR), []
    while len(found) < count:
        first = random.integers(97, 123, (1 << 20, 8), np.uint8)
        state = (first.reshape(-1).view(np.uint64) ^ np.uint64(16 * PUBLIC_FACTOR % WORD)) * factor
        second = ((state ^ (state >> np.uint64(29))) ^ np.uint64(0x5A5A5A5A5A5A5A5A)).view(np.uint8).reshape(-1, 8)
        printable = np.all((second >= 35) & (second < 127) & (second != 92), axis=1)
        found += [a.tobytes() + b.tobytes() for a, b in zip(first[printable], second[printable], strict=True)]
    return found[:count]


@given(
    keys=st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=20)), max_size=80),
    secret=st.tuples(st.integers(0, WORD - 1), st.integers(0, WORD - 1)),
)
def test_each_key_is_found_once_in_the_order_of_its_first_coming(
    keys: list[tuple[int, bytes]], secret: tuple[int, int]
) -> None:
    """The secret decides where a key lies, never what is found."""
    table, buffer = filled(keys, secret)
    found = [
        (int(each["group"]), buffer[each["start"] : each["start"] + each["size"]].tobytes())
        for each in keys_in_order(table)
    ]
    assert found == list(dict.fromkeys(keys))


def test_keys_that_collide_without_a_secret_do_not_collide_with_one() -> None:
    """All in one slot would be 2,000 steps a key; a table that is half full needs about half a step."""
    keys = [(0, key) for key in colliding_keys(2000)]
    for secret in (
        (0xA0761D6478BD642F, 0xE7037ED1A0B428DB),
        tuple(np.random.default_rng().integers(0, 2**63, 2).tolist()),
    ):
        assert steps(*filled(keys, secret)) < 4 * len(keys)


def test_colliding_attribute_keys_cost_a_span_no_more_than_others(monkeypatch) -> None:  # noqa: ANN001
    """The decoder's own tables, filled by a document of such keys."""
    seen = []

    def noting(source, *arguments, **options):  # noqa: ANN001, ANN002, ANN003, ANN202
        column = attribute_column(source, *arguments, **options)
        seen.append((column.known.table, source.buffer))
        return column

    monkeypatch.setattr(reading, "attribute_column", noting)
    keys = [attribute(key.decode(), intValue="1") for key in colliding_keys(2000)]
    batch = decode([Document(traces(span(attributes=keys)))], encoding="json")
    assert batch.span_keys.num_rows == 2000
    table, buffer = max(seen, key=lambda each: int(each[0].count[0]))
    assert steps(table, buffer) < 4 * 2000
