"""Reading a pickle that nobody vouches for: numbers, texts, lists, tuples and dictionaries, and nothing else.

A pickle is a program. Before it runs, its instructions are checked against a list of those that only build plain
values, with bounds on their number, on the slots they remember values in, on how many containers there are and how
deep they nest; so it can neither call anything nor make the reader take more memory than its own size accounts for.
What they would leave on the stack is followed as well: a value that holds itself, one that is small here and beyond
bounds for whoever walks through it (a list of twice a list of twice a list ...), and a key that is no plain value are
refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UnknownFormatError
from tracekit.importers.pickle_program import (
    BAD_INSTRUCTION,
    BAD_KEY,
    BAD_SLOT,
    EFFECTS,
    FINE,
    FORBIDDEN,
    HOLDS_ITSELF,
    LENGTH_1,
    LENGTH_4,
    LENGTH_8,
    NOT_THERE,
    RAN_OUT,
    TOO_DEEP,
    TOO_MANY,
    TOO_MANY_CONTAINERS,
    TOO_MANY_VALUES,
    Limits,
    checked,
)

MAX_BYTES = 256 << 20
"""The largest pickle that is read."""

MAX_INSTRUCTIONS = 50_000_000
"""The most instructions that are run: more than a Flight Recorder of 100,000 entries with stack frames has."""

MAX_DEPTH = 64
"""How many containers may be open at a time, and how deep they may nest."""

MAX_CONTAINERS = 10_000_000
"""The most lists, tuples and dictionaries: an empty one takes one byte here and sixty in memory."""

LEAST_VALUES = 1 << 20
"""A value may hold this many values and four for each byte of the pickle, those counted twice that it holds twice."""

_ALLOWED = (
    "PROTO", "FRAME", "STOP", "MARK", "POP_MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "EMPTY_LIST", "APPEND", "APPENDS", "LIST",
    "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS",
    "BINPUT", "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET",
)  # fmt: skip


def loads(data: bytes) -> Any:
    """The value of a pickle of plain values.

    Raises `UnknownFormatError` where it is cut off, too large, or would do anything but build plain values.
    """
    if len(data) > MAX_BYTES:
        raise UnknownFormatError(f"the pickle has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
    program = np.frombuffer(data, np.uint8)
    limits = Limits(MAX_INSTRUCTIONS, MAX_DEPTH, min(len(data), MAX_CONTAINERS), LEAST_VALUES + 4 * len(data))
    problem, position = checked(program, _OPERANDS, _EFFECTS, limits)
    if problem != FINE:
        raise UnknownFormatError(f"the pickle is refused at byte {position}: {_reason(data, problem, position)}")
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except (
        pickle.UnpicklingError,
        EOFError,
        LookupError,
        ArithmeticError,
        ValueError,
        TypeError,
        AttributeError,
    ) as error:
        raise UnknownFormatError(f"the pickle is damaged: {error}") from error


class _PlainUnpickler(pickle.Unpickler):
    """Never looks up a name, whatever the check above lets through."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: object) -> NoReturn:
        raise pickle.UnpicklingError("it asks for a persistent object")


def _reason(data: bytes, problem: int, position: int) -> str:
    if problem == BAD_INSTRUCTION:
        names = (each.name for each in pickletools.opcodes if each.code == chr(data[position]))
        name = next(names, f"0x{data[position]:02x}")
        return f"its instruction {name} does more than build numbers, texts, lists and dictionaries"
    return {
        RAN_OUT: "it is cut off",
        TOO_MANY: f"it has more than {MAX_INSTRUCTIONS:,} instructions",
        TOO_DEEP: f"more than {MAX_DEPTH} containers are open at a time or lie in each other",
        BAD_SLOT: "it remembers a value under a number larger than its instructions account for",
        NOT_THERE: "it is damaged, an instruction takes values that are not there",
        HOLDS_ITSELF: "a container is changed after it was put elsewhere, or holds itself",
        BAD_KEY: "it is damaged, a key is a container",
        TOO_MANY_CONTAINERS: f"it makes more than {MAX_CONTAINERS:,} lists, tuples and dictionaries",
        TOO_MANY_VALUES: "a value holds the same values again and again, more of them than its bytes account for",
    }[problem]


def _operand_sizes() -> NDArray[np.int64]:
    """For each instruction the bytes that follow it, or how their number is written, or that it is forbidden."""
    sizes = np.full(256, FORBIDDEN, np.int64)
    lengths = {"uint1": LENGTH_1, "uint4": LENGTH_4, "uint8": LENGTH_8}
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


def _effects() -> NDArray[np.int64]:
    """For each instruction what it does to the stack, as a number of `EFFECTS`."""
    effects = np.full(256, list(EFFECTS).index("push"), np.int64)
    named = {instruction.name: ord(instruction.code) for instruction in pickletools.opcodes}
    for number, names in enumerate(EFFECTS.values()):
        effects[[named[name] for name in names]] = number
    return effects


_OPERANDS = _operand_sizes()
_EFFECTS = _effects()
