"""Pickles from anywhere: plain values are read, everything else is refused before it runs."""

from __future__ import annotations

import collections
import contextlib
import os
import pickle
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.errors import UnknownFormatError
from tracekit.importers import safe_pickle

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(plain, st.sampled_from([2, 3, 4, 5]))
def test_plain_values_come_back(value: object, protocol: int) -> None:
    """Whatever protocol wrote them."""
    assert safe_pickle.loads(pickle.dumps(value, protocol)) == value


class _Calls:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/tracekit_must_not_exist",)


@pytest.mark.parametrize(
    ("data", "instruction"),
    [
        (pickle.dumps(_Calls(), 2), "GLOBAL"),
        (pickle.dumps(_Calls(), 4), "STACK_GLOBAL"),
        (pickle.dumps(collections.OrderedDict(a=1), 2), "GLOBAL"),
        (b"\x80\x02cos\nsystem\n(S'id'\ntR.", "GLOBAL"),
        (b"\x80\x02(S'id'\nios\nsystem\n.", "STRING"),
        (b"\x80\x02X\x01\x00\x00\x00aQ.", "BINPERSID"),
        (b"\x80\x02\x82\x01.", "EXT1"),
        (b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".", "BYTEARRAY8"),
        (b"\x80\x02\x8b" + struct.pack("<i", 1 << 30) + b".", "LONG4"),
        (b"\x80\x02\xff.", "0xff"),
    ],
)  # fmt: skip
def test_what_does_more_than_build_values_is_refused(data: bytes, instruction: str) -> None:
    """Before anything of it runs, and with the name of what it wanted to do."""
    with pytest.raises(UnknownFormatError, match=rf"refused at byte \d+: its instruction {instruction} "):
        safe_pickle.loads(data)
    assert not os.path.exists("/tmp/tracekit_must_not_exist")  # noqa: PTH110


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x80\x02]r\xff\xff\xff\x7f.", "larger than its instructions account for"),
        (b"\x80\x02" + b"(" * 1000, "containers are open"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "cut off"),
        (b"\x80\x05\x8d" + struct.pack("<Q", 2**63) + b".", "cut off"),
        (b"", "cut off"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"\x80\x02}]K\x01s.", "damaged"),
        (b"\x80\x02a.", "damaged"),
    ],
)
def test_what_would_take_memory_or_is_damaged_is_refused(data: bytes, told: str) -> None:
    """A memo of two billion slots, bottomless nesting, lengths beyond the end, a stack that is empty."""
    with pytest.raises(UnknownFormatError, match=told):
        safe_pickle.loads(data)


@given(plain, st.data())
def test_every_cut_is_told(value: object, data: st.DataObject) -> None:
    """A pickle that ends early is an error, never a part of the value."""
    whole = pickle.dumps(value, 2)
    with pytest.raises(UnknownFormatError):
        safe_pickle.loads(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing else is raised."""
    with contextlib.suppress(UnknownFormatError):
        safe_pickle.loads(b"\x80\x02" + data)
