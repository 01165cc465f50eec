"""Unaligned eight-byte reads and writes for compiled code, and what can be asked of eight bytes at once.

A buffer that is read this way must end in `SPARE` bytes that belong to it. Words are little-endian, as on
every platform that numba compiles for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracekit.kernels.compiling import intrinsic
from tracekit.kernels.native import inlined

SPARE = 8
"""Bytes that a buffer needs behind its content."""

_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_CONTROLS = np.uint64(0x2020202020202020)


def _address(context: Any, builder: Any, signature: Any, args: Any, bits: int) -> Any:
    from llvmlite import ir
    from numba.np.arrayobj import make_array

    data = make_array(signature.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(bits).as_pointer())


@intrinsic
def load8(typing_context: Any, array: Any, index: Any) -> Any:
    """The byte of a `uint8` array at an index that is not negative, which saves asking whether it is."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature, args, 8))

    return types.uint8(array, types.int64), generate


@intrinsic
def load64(typing_context: Any, array: Any, index: Any) -> Any:
    """The eight bytes of a `uint8` array at a byte index, as one `uint64`."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature, args, 64), align=1)

    return types.uint64(array, types.int64), generate


@intrinsic
def load32(typing_context: Any, array: Any, index: Any) -> Any:
    """The four bytes of a `uint8` array at a byte index, as one `uint32`."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature, args, 32), align=1)

    return types.uint32(array, types.int64), generate


@intrinsic
def store64(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Writes one `uint64` over the eight bytes of a `uint8` array at a byte index."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, signature, args, 64), align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.uint64), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Number of zero bits below the lowest bit that is set, 64 if none is."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def folded_product(typing_context: Any, left: Any, right: Any) -> Any:
    """The two halves of the 128-bit product of two words, one over the other: each bit depends on all bits."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, narrow = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        high = builder.lshr(product, ir.Constant(wide, 64))
        return builder.xor(builder.trunc(product, narrow), builder.trunc(high, narrow))

    return types.uint64(types.uint64, types.uint64), generate


@inlined
def first_bytes(word: int, count: int) -> int:
    """The word with all but its first `count` (1 to 8) bytes cleared."""
    return word & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * count))


@inlined
def _zero_bytes(word: int) -> int:
    """The high bit of the first byte that is zero is set; bits below it are not."""
    return (word - _ONES) & ~word & _HIGH


@inlined
def first_special(word: int) -> int:
    """Place (0 to 7) of the first quote, backslash or control character among eight bytes, 8 if there is
    none.
    """
    special = _zero_bytes(word ^ _QUOTES) | _zero_bytes(word ^ _BACKSLASHES) | ((word - _CONTROLS) & ~word & _HIGH)
    return trailing_zeros(special) >> 3


@inlined
def is_ascii(word: int) -> bool:
    """Whether all eight bytes are ASCII."""
    return word & _HIGH == np.uint64(0)


@inlined
def copy_bytes(source: np.ndarray, start: int, size: int, target: np.ndarray, at: int) -> None:
    """Copies `size` bytes; up to seven bytes behind the copy are overwritten."""
    done = 0
    while done < size:
        store64(target, at + done, load64(source, start + done))
        done += 8


@inlined
def same_bytes(left: np.ndarray, left_start: int, right: np.ndarray, right_start: int, size: int) -> bool:
    """Whether two stretches of `size` bytes are equal."""
    done = 0
    while size - done >= 8:
        if load64(left, left_start + done) != load64(right, right_start + done):
            return False
        done += 8
    if done == size:
        return True
    difference = load64(left, left_start + done) ^ load64(right, right_start + done)
    return first_bytes(difference, size - done) == np.uint64(0)
