"""Writing JSON text into a byte buffer from compiled code.

Every `put_*` function gives the place behind what it wrote. A buffer that is too short is written no
further, but the place still grows (possibly by more than the text needs), so the caller sees at the end
that it went past the buffer.
"""

from __future__ import annotations

import numpy as np

from tracekit.kernels import index, inlined, outlined
from tracekit.kernels.unaligned import (
    SPARE,
    copy_bytes,
    first_bytes,
    first_special,
    is_ascii,
    load64,
    store64,
)  # fmt: skip

_QUOTE, _BACKSLASH = np.int64(34), np.int64(92)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)


def _short_escapes() -> np.ndarray:
    table = np.zeros(256, np.uint8)
    for character, letter in {
        "\b": "b",
        "\t": "t",
        "\n": "n",
        "\f": "f",
        "\r": "r",
        '"': '"',
        "\\": "\\",
    }.items():
        table[ord(character)] = ord(letter)
    return table


_SHORT_ESCAPES = _short_escapes()


@inlined
def put_byte(out: np.ndarray, at: int, byte: int) -> int:
    """Writes one byte."""
    if at < out.size:
        out[index(at)] = byte
    return at + 1


@inlined
def put_bytes(out: np.ndarray, at: int, source: np.ndarray, start: int, size: int) -> int:
    """Copies a stretch of a buffer that has spare bytes."""
    if at + size + SPARE <= out.size:
        copy_bytes(source, start, size, out, at)
    return at + size


@inlined
def put_string(out: np.ndarray, at: int, source: np.ndarray, start: int, size: int) -> tuple[int, bool]:
    """Writes UTF-8 text as a JSON string: quoted, with the escapes that JSON demands and no others.

    Beside the place it gives whether the text is well-formed; if it is not, what was written is of no use.
    """
    if at + 6 * size + 2 * SPARE > out.size:
        return at + 6 * size + 2 * SPARE, True
    seen, first = np.uint64(0), start
    out[index(at)] = _QUOTE
    at += 1
    end = start + size
    while start < end:
        word = load64(source, start)
        plain = min(first_special(word), end - start)
        store64(out, at, word)
        seen |= word
        at += plain
        start += plain
        if plain < 8 and start < end:
            at = _put_escape(out, at, source[index(start)])
            start += 1
    out[index(at)] = _QUOTE
    return at + 1, is_ascii(seen) or is_utf8(source, first, size)


@inlined
def _put_escape(out: np.ndarray, at: int, byte: int) -> int:
    out[at] = _BACKSLASH
    letter = _SHORT_ESCAPES[byte]
    if letter:
        out[at + 1] = letter
        return at + 2
    out[at + 1] = 117
    out[at + 2] = out[at + 3] = 48
    out[at + 4] = _HEX[byte >> 4]
    out[at + 5] = _HEX[byte & 15]
    return at + 6


@inlined
def put_integer(out: np.ndarray, at: int, value: int) -> int:
    """Writes a signed 64-bit integer in decimal."""
    if at + 20 + SPARE > out.size:
        return at + 20 + SPARE
    rest = np.uint64(value)
    if value < 0:
        out[at] = 45
        at += 1
        rest = np.uint64(0) - rest
    digits = 1
    limit = np.uint64(10)
    while digits < 19 and rest >= limit:
        limit *= np.uint64(10)
        digits += 1
    for place in range(at + digits - 1, at - 1, -1):
        out[place] = np.uint8(48) + np.uint8(rest % np.uint64(10))
        rest //= np.uint64(10)
    return at + digits


@outlined
def put_base64(out: np.ndarray, at: int, source: np.ndarray, start: int, size: int) -> int:
    """Writes bytes as a quoted base64 string with padding (RFC 4648, section 4)."""
    needed = 2 + 4 * ((size + 2) // 3)
    if at + needed + SPARE > out.size:
        return at + needed + SPARE
    out[at] = out[at + needed - 1] = _QUOTE
    place = at + 1
    for first in range(start, start + size, 3):
        left = min(3, start + size - first)
        bits = np.int64(source[first]) << 16
        bits |= np.int64(source[first + 1]) << 8 if left > 1 else 0
        bits |= np.int64(source[first + 2]) if left > 2 else 0
        for digit in range(4):
            out[place + digit] = _BASE64[(bits >> (18 - 6 * digit)) & 63] if digit <= left else 61
        place += 4
    return at + needed


@inlined
def is_utf8(source: np.ndarray, start: int, size: int) -> bool:
    """Whether a stretch of a buffer is well-formed UTF-8 (Unicode 15, table 3-7)."""
    end = start + size
    while start < end:
        word = load64(source, start)
        if end - start < 8:
            word = first_bytes(word, end - start)
        if is_ascii(word):
            start += 8
        elif source[start] < 0x80:
            start += 1
        else:
            length = _sequence_length(source, start, end)
            if length == 0:
                return False
            start += length
    return True


@inlined
def _sequence_length(source: np.ndarray, start: int, end: int) -> int:
    """Bytes of the well-formed sequence that begins beyond ASCII, 0 if it is none."""
    lead = source[start]
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if lead < 0xC2 or lead > 0xF4 or end - start < length:
        return 0
    low, high = 0x80, 0xBF
    if lead in (0xE0, 0xF0):
        low = 0xA0 if lead == 0xE0 else 0x90
    if lead in (0xED, 0xF4):
        high = 0x9F if lead == 0xED else 0x8F
    if source[start + 1] < low or source[start + 1] > high:
        return 0
    for place in range(start + 2, start + length):
        if source[place] & 0xC0 != 0x80:
            return 0
    return length
