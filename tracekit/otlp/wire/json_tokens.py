"""The tokens of JSON text, read by compiled code.

A reader is given the first byte of a token and gives the byte behind it, or a negative `Reason` where the
text ends too early or is no JSON. Text behind a document's end may be looked at but never counts.
"""

from __future__ import annotations

import numpy as np

from tracekit.kernels import index, inlined, outlined
from tracekit.kernels.unaligned import first_special, load32, load64
from tracekit.records import Reason

TRUNCATED = -int(Reason.TRUNCATED)
MALFORMED = -int(Reason.MALFORMED)
QUOTE, BACKSLASH, COMMA, COLON = 34, 92, 44, 58
OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY = 123, 125, 91, 93
_TRUE = int.from_bytes(b"true", "little")
_NULL = int.from_bytes(b"null", "little")
_ALSE = int.from_bytes(b"alse", "little")


def _escapes() -> np.ndarray:
    table = np.zeros(256, np.uint8)
    for letter, character in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True):
        table[ord(letter)] = ord(character)
    return table


def _hex_digits() -> np.ndarray:
    table = np.full(256, 255, np.uint8)
    for value, digits in enumerate(
        ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "aA", "bB", "cC", "dD", "eE", "fF")
    ):
        for digit in digits:
            table[ord(digit)] = value
    return table


_ESCAPES = _escapes()
_HEX_DIGITS = _hex_digits()


@inlined
def skip_blank(buffer: np.ndarray, position: int, end: int) -> int:
    """The next byte that is not a space, tab or line end; `end` if there is none."""
    while position < end and buffer[index(position)] in (32, 10, 13, 9):
        position += 1
    return position


@outlined
def string_end(buffer: np.ndarray, position: int, end: int) -> tuple[int, bool]:
    """From behind the opening quote to the closing quote, and whether there are escapes between."""
    has_escapes = False
    while position < end:
        place = first_special(load64(buffer, position))
        position += place
        if place == 8 or position >= end:
            continue
        byte = buffer[index(position)]
        if byte == QUOTE:
            return position, has_escapes
        if byte != BACKSLASH:
            return MALFORMED, has_escapes
        has_escapes = True
        position += 2
    return TRUNCATED, has_escapes


@outlined
def unescape(buffer: np.ndarray, start: int, end: int, target: int) -> int:
    """Writes the text of a string with escapes to another place of the buffer and gives the byte behind it.

    A lone surrogate becomes three bytes that are not UTF-8: what it means cannot be told in any encoding.
    """
    while start < end:
        byte = buffer[start]
        if byte != BACKSLASH:
            buffer[target] = byte
            start, target = start + 1, target + 1
        elif buffer[start + 1] == 117:
            character, start = _code_point(buffer, start, end)
            if character < 0:
                return MALFORMED
            target = _put_utf8(buffer, target, character)
        else:
            letter = _ESCAPES[buffer[start + 1]]
            if letter == 0:
                return MALFORMED
            buffer[target] = letter
            start, target = start + 2, target + 1
    return target


@inlined
def _code_point(buffer: np.ndarray, start: int, end: int) -> tuple[int, int]:
    """The character of one `\\uXXXX` or of a surrogate pair, and the byte behind; negative if it is none."""
    high = _four_digits(buffer, start, end)
    if 0xD800 <= high < 0xDC00 and start + 7 < end and buffer[start + 6] == BACKSLASH and buffer[start + 7] == 117:
        low = _four_digits(buffer, start + 6, end)
        if 0xDC00 <= low < 0xE000:
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), start + 12
    return high, start + 6


@inlined
def _four_digits(buffer: np.ndarray, start: int, end: int) -> int:
    if start + 6 > end:
        return -1
    value = 0
    for place in range(start + 2, start + 6):
        digit = _HEX_DIGITS[buffer[place]]
        if digit > 15:
            return -1
        value = value << 4 | digit
    return value


@inlined
def _put_utf8(buffer: np.ndarray, target: int, character: int) -> int:
    if character < 0x80:
        buffer[target] = character
        return target + 1
    length = 2 if character < 0x800 else 3 if character < 0x10000 else 4
    for place in range(length - 1, 0, -1):
        buffer[target + place] = 0x80 | character & 0x3F
        character >>= 6
    buffer[target] = (0xF00 >> length) & 0xFF | character
    return target + length


@outlined
def hex_bytes(buffer: np.ndarray, start: int, size: int, target: int) -> int:
    """Writes the bytes of hexadecimal text to another place and gives how many, -1 if the text is none."""
    if size % 2:
        return -1
    bad = 0
    for place in range(size // 2):
        high, low = _HEX_DIGITS[buffer[start + 2 * place]], _HEX_DIGITS[buffer[start + 2 * place + 1]]
        bad |= high | low
        buffer[target + place] = (high & 15) << 4 | low & 15
    return -1 if bad > 15 else size // 2


@outlined
def number_end(buffer: np.ndarray, position: int, end: int) -> int:
    """The byte behind a JSON number (RFC 8259, section 6)."""
    if position < end and buffer[position] == 45:
        position += 1
    first = position
    position = _digits_end(buffer, position, end)
    if position == first or (buffer[first] == 48 and position > first + 1):
        return MALFORMED if first < end else TRUNCATED
    if position < end and buffer[position] == 46:
        first, position = position + 1, _digits_end(buffer, position + 1, end)
        if position == first:
            return MALFORMED if position < end else TRUNCATED
    if position < end and buffer[position] in (101, 69):
        position += 1
        if position < end and buffer[position] in (43, 45):
            position += 1
        first, position = position, _digits_end(buffer, position, end)
        if position == first:
            return MALFORMED if position < end else TRUNCATED
    return position


@inlined
def _digits_end(buffer: np.ndarray, position: int, end: int) -> int:
    while position < end and 48 <= buffer[position] <= 57:
        position += 1
    return position


@inlined
def literal_end(buffer: np.ndarray, position: int, end: int) -> int:
    """The byte behind `true`, `false` or `null`."""
    size = 5 if buffer[position] == 102 else 4
    if position + size > end:
        return TRUNCATED
    if size == 5:
        return position + 5 if load32(buffer, position + 1) == _ALSE else MALFORMED
    word = load32(buffer, position)
    return position + 4 if word in (_TRUE, _NULL) else MALFORMED


@outlined
def value_end(buffer: np.ndarray, position: int, end: int) -> int:
    """The byte behind any value. Inside arrays and objects only strings and brackets are looked at."""
    depth = 0
    while position < end:
        byte = buffer[position]
        if byte == QUOTE:
            position, _ = string_end(buffer, position + 1, end)
        elif depth == 0 and byte not in (OPEN_OBJECT, OPEN_ARRAY):
            return _scalar_end(buffer, position, end)
        elif byte in (OPEN_OBJECT, OPEN_ARRAY):
            depth += 1
        elif byte in (CLOSE_OBJECT, CLOSE_ARRAY):
            depth -= 1
        if position < 0:
            return position
        position += 1
        if depth == 0:
            return position
    return TRUNCATED


@inlined
def _scalar_end(buffer: np.ndarray, position: int, end: int) -> int:
    byte = buffer[position]
    if byte == 45 or 48 <= byte <= 57:
        return number_end(buffer, position, end)
    return literal_end(buffer, position, end) if byte in (116, 102, 110) else MALFORMED


def _base64_digits() -> np.ndarray:
    table = np.full(256, 255, np.uint8)
    for value, digit in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):
        table[digit] = value
    table[ord("-")], table[ord("_")] = 62, 63
    return table


_BASE64_DIGITS = _base64_digits()


@outlined
def base64_bytes(buffer: np.ndarray, start: int, size: int, target: int) -> int:
    """Writes the bytes of base64 text to another place and gives how many, -1 if the text is none.

    Both alphabets are read, with or without padding, as protobuf's JSON mapping demands.
    """
    end = start + size
    while end > start and buffer[end - 1] == 61 and size - (end - start) < 2:
        end -= 1
    if (end - start) % 4 == 1 or (end - start < size and size % 4):
        return -1
    bits, bit_count, written = 0, 0, 0
    for place in range(start, end):
        digit = _BASE64_DIGITS[buffer[place]]
        if digit > 63:
            return -1
        bits, bit_count = (bits << 6 | digit) & 0xFFFF, bit_count + 6
        if bit_count >= 8:
            bit_count -= 8
            buffer[target + written] = (bits >> bit_count) & 0xFF
            written += 1
    return written
