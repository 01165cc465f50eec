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


def shared(levels: int) -> bytes:
    """A list of twice a list of twice a list ..., `levels` deep: `2 ** levels` values in a few bytes."""
    again = b"".join(b"](" + b"h" + bytes([at]) + b"h" + bytes([at]) + b"eq" + bytes([at + 1]) for at in range(levels))
    return b"\x80\x02(]q\x00" + again + b"l."


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (shared(40), "again and again"),
        (b"\x80\x02" + b"]" * 100 + b"a" * 99 + b".", "lie in each other"),
        (b"\x80\x02)" + b"\x85" * 100 + b".", "lie in each other"),
        (b"\x80\x02]q\x00h\x00a.", "holds itself"),
        (b"\x80\x02(]q\x00h\x00h\x00al.", "holds itself"),
        (b"\x80\x02}q\x00K\x01h\x00s.", "holds itself"),
        (b"\x80\x02})K\x01s.", "a key is a container"),
        (b"\x80\x02}(K\x01K\x02)K\x03u.", "a key is a container"),
        (b"\x80\x02((K\x01K\x02)K\x03dl.", "a key is a container"),
        (b"\x80\x02}K\x01a.", "damaged"),
        (b"\x80\x02)(K\x01e.", "damaged"),
        (b"\x80\x02]K\x00K\x01s.", "damaged"),
        (b"\x80\x02K\x01(a.", "damaged"),
        (b"\x80\x021.", "damaged"),
        (b"\x80\x04\x94.", "damaged"),
        (b"\x80\x05\x97.", "NEXT_BUFFER"),
        (b"\x80\x05K\x01\x98.", "READONLY_BUFFER"),
        (b"\x80\x02K\x012.", "DUP"),
        (b"\x80\x02\x8a\xff" + b"\xff" * 100, "cut off"),
        (b"\x80\x04\x95" + struct.pack("<Q", 2**64 - 1) + b"N.", "damaged"),
        (b"\x80\x02(" + b"X\x02\x00\x00\x00\xff\xfe" + b"l.", "damaged"),
    ],
)  # fmt: skip
def test_what_grows_when_somebody_walks_through_it_is_refused(data: bytes, told: str) -> None:
    """Values held again and again, by themselves, as keys, deep without a mark; buffers from elsewhere; bad frames."""
    with pytest.raises(UnknownFormatError, match=told):
        safe_pickle.loads(data)


def test_values_that_are_held_twice_come_back() -> None:
    """As picklers write them: finished, and then recalled, on the stack still or not."""
    sizes, frame = [8, 8], {"line": 1, "name": "step"}
    value = {"a": [sizes, sizes, (sizes, 1)], "b": [frame, [frame, frame]], "c": sizes}
    for protocol in (2, 3, 4, 5):
        assert safe_pickle.loads(pickle.dumps(value, protocol)) == value
    assert safe_pickle.loads(pickle.dumps([sizes] * 2500, 4)) == [sizes] * 2500


def test_every_byte_of_a_dump_may_be_damaged() -> None:
    """Any byte changed, any byte left out: read or refused."""
    whole = pickle.dumps({"version": "2.9", "entries": [{"sizes": [[1, 2]], "state": "started", "at": 2**70}]}, 2)
    for at in range(len(whole)):
        for byte in (0, 40, 93, 97, 101, 104, 113, 117, 133, 255):
            with contextlib.suppress(UnknownFormatError):
                safe_pickle.loads(whole[:at] + bytes([byte]) + whole[at + 1 :])
        with contextlib.suppress(UnknownFormatError):
            safe_pickle.loads(whole[:at] + whole[at + 1 :])


def test_many_small_containers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list is one byte here and sixty in memory."""
    monkeypatch.setattr(safe_pickle, "MAX_CONTAINERS", 1000)
    assert len(safe_pickle.loads(b"\x80\x02(" + b"]" * 999 + b"l.")) == 999
    with pytest.raises(UnknownFormatError, match="makes more than 1,000"):
        safe_pickle.loads(b"\x80\x02(" + b"]" * 1001 + b"l.")
