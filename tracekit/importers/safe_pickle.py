"""Reading a pickle that nobody vouches for: numbers, texts, lists, tuples and dictionaries, and nothing else.

A pickle is a program. Before it runs, its instructions are checked against a list of those that only build plain
values, with bounds on their number, on the slots they remember values in and on how deep they nest; so it can neither
call anything nor make the reader take more memory than its own size accounts for.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UnknownFormatError
from tracekit.kernels import kernel

MAX_BYTES = 256 << 20
"""The largest pickle that is read."""

MAX_INSTRUCTIONS = 50_000_000
"""The most instructions that are run: more than a Flight Recorder of 100,000 entries with stack frames has."""

MAX_DEPTH = 64
"""How many containers may be open at a time."""

_ALLOWED = (
    "PROTO", "FRAME", "STOP", "MARK", "POP_MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "EMPTY_LIST", "APPEND", "APPENDS", "LIST",
    "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS",
    "BINPUT", "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET",
)  # fmt: skip

_FORBIDDEN, _LENGTH_1, _LENGTH_4, _LENGTH_8 = -1, -2, -3, -4
_PLAIN, _OPENS, _CLOSES, _REMEMBERS, _STOPS = 0, 1, 2, 3, 4
_RAN_OUT, _BAD_INSTRUCTION, _TOO_MANY, _TOO_DEEP, _BAD_SLOT, _FINE = 1, 2, 3, 4, 5, 0


def loads(data: bytes) -> Any:
    """The value of a pickle of plain values.

    Raises `UnknownFormatError` where it is cut off, too large, or would do anything but build plain values.
    """
    if len(data) > MAX_BYTES:
        raise UnknownFormatError(f"the pickle has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    problem, position = _checked(np.frombuffer(data, np.uint8), _OPERANDS, _ROLES, MAX_INSTRUCTIONS, MAX_DEPTH)
    if problem != _FINE:
        raise UnknownFormatError(f"the pickle is refused at byte {position}: {_reason(data, problem, position)}")
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise UnknownFormatError(f"the pickle is damaged: {error}") from error


class _PlainUnpickler(pickle.Unpickler):
    """Never looks up a name, whatever the check above lets through."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: object) -> NoReturn:
        raise pickle.UnpicklingError("it asks for a persistent object")


def _reason(data: bytes, problem: int, position: int) -> str:
    if problem == _BAD_INSTRUCTION:
        names = (each.name for each in pickletools.opcodes if each.code == chr(data[position]))
        name = next(names, f"0x{data[position]:02x}")
        return f"its instruction {name} does more than build numbers, texts, lists and dictionaries"
    return {
        _RAN_OUT: "it is cut off",
        _TOO_MANY: f"it has more than {MAX_INSTRUCTIONS:,} instructions",
        _TOO_DEEP: f"more than {MAX_DEPTH} containers are open at a time",
        _BAD_SLOT: "it remembers a value under a number larger than its instructions account for",
    }[problem]


def _operand_sizes() -> NDArray[np.int64]:
    """For each instruction the bytes that follow it, or how their number is written, or that it is forbidden."""
    sizes = np.full(256, _FORBIDDEN, np.int64)
    lengths = {"uint1": _LENGTH_1, "uint4": _LENGTH_4, "uint8": _LENGTH_8}
    for instruction in pickletools.opcodes:
        if instruction.name not in _ALLOWED:
            continue
        operand = instruction.arg
        if operand is None:
            sizes[ord(instruction.code)] = 0
        elif operand.n >= 0:
            sizes[ord(instruction.code)] = operand.n
        else:
            written = {pickletools.TAKEN_FROM_ARGUMENT1: "uint1", pickletools.TAKEN_FROM_ARGUMENT4U: "uint4"}
            sizes[ord(instruction.code)] = lengths[written.get(operand.n, "uint8")]
    return sizes


def _instruction_roles() -> NDArray[np.int64]:
    roles = np.full(256, _PLAIN, np.int64)
    named = {instruction.name: ord(instruction.code) for instruction in pickletools.opcodes}
    roles[named["MARK"]] = _OPENS
    roles[[named[name] for name in ("APPENDS", "SETITEMS", "TUPLE", "LIST", "DICT", "POP_MARK")]] = _CLOSES
    roles[[named[name] for name in ("BINPUT", "LONG_BINPUT")]] = _REMEMBERS
    roles[named["STOP"]] = _STOPS
    return roles


_OPERANDS = _operand_sizes()
_ROLES = _instruction_roles()


@kernel
def _checked(
    data: NDArray[np.uint8], operands: NDArray[np.int64], roles: NDArray[np.int64],
    max_instructions: int, max_depth: int,
) -> tuple[int, int]:  # fmt: skip
    """What is wrong with the instructions (`_FINE`: nothing) and where."""
    at = count = depth = 0
    while at < len(data):
        size, start = operands[data[at]], at + 1
        role = roles[data[at]]
        count += 1
        if size == _FORBIDDEN:
            return _BAD_INSTRUCTION, at
        if count > max_instructions:
            return _TOO_MANY, at
        if size < 0:
            width = 1 if size == _LENGTH_1 else 4 if size == _LENGTH_4 else 8
            size = _number(data, start, width)
            start += width
        if size < 0 or size > len(data) - start:
            return _RAN_OUT, at
        depth += (role == _OPENS) - (role == _CLOSES)
        if depth > max_depth:
            return _TOO_DEEP, at
        if role == _REMEMBERS and _number(data, start, size) > count:
            return _BAD_SLOT, at
        if role == _STOPS:
            return _FINE, at
        at = start + size
    return _RAN_OUT, len(data)


@kernel
def _number(data: NDArray[np.uint8], start: int, width: int) -> int:
    """A little-endian number; -1 where the data ends before it."""
    if start + width > len(data):
        return -1
    number = np.int64(0)
    for byte in range(width):
        number |= np.int64(data[start + byte]) << (8 * byte)
    return number  # type: ignore[return-value]
