"""Foreign text is text: what a sender named a span must not move a cursor, make a link or turn a sentence round.

One function a border, for everything that senders, file names and addresses bring: `plain` for a line of text and for
a terminal, `named` for a name inside a sentence, `markdown` and `markdown_code` for a page, `csv_cell` for a
spreadsheet, `plain_frame` for all texts of a table. JSON and Parquet have forms of their own and keep every character.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LONGEST_NAME = 120
"""Characters of a name that a sentence shows; the answer's frames and JSON have all of it."""

_LEFT_TO_RIGHT = "\u200e"
_JOINER = "\u2060"
# Zero-width joiners make letters of several scripts, and pictures; nothing is moved or hidden by them.
_KEPT_FORMATS = "\u200c\u200d"
# Control, format, surrogate, private and unassigned characters, and the separators of lines and paragraphs.
_ODD = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MAYBE_ODD = re.compile(r"[^\x20-\x7e]")
# The same for a whole column, a little too wide.
_ODD_IN_A_COLUMN = r"[\p{C}\p{Zl}\p{Zp}\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_MOST_MARKS = 4


def plain(text: str, *, keep: str = "") -> str:
    """A text in which nothing acts: control and invisible characters are written out (`\\x1b`, `\\u202e`, `\\n`).

    Letters that run from right to left stay, with a mark behind them that ends their direction, so that a number that
    follows stays where it is. `keep` names characters that stay as they are. Doing it twice changes nothing more.
    """
    if not _MAYBE_ODD.search(text):
        return text
    out: list[str] = []
    marks, is_turned = 0, False
    for character in text:
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        is_right = unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        if is_turned and not is_right and not marks:
            is_turned = False
            out.append(_LEFT_TO_RIGHT)
            if character == _LEFT_TO_RIGHT:
                continue
        is_turned = is_turned or is_right
        if character in keep or (character in _KEPT_FORMATS and out) or (kind not in _ODD and marks <= _MOST_MARKS):
            out.append(character)
        else:
            out.append(_written_out(character))
    return "".join(out) + (_LEFT_TO_RIGHT if is_turned else "")


def _written_out(character: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    code = ord(character)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def named(text: str, *, longest: int = LONGEST_NAME) -> str:
    """A name for a sentence: `plain`, and cut where it is longer than a sentence bears, which is then said."""
    shown = plain(text[: longest + 1])
    if len(text) <= longest and len(shown) <= 4 * longest:
        return shown
    return f"{shown[: longest - 20]}… ({len(text):,} characters)"


def terminal(text: str) -> str:
    """A text of many lines for a terminal: line ends are ours, everything else is `plain`."""
    return plain(text, keep="\n")


_MARKDOWN = re.compile(r"[\\`*\[\]<>~$|&!]|(?<![^\W_])_|_(?![^\W_])|:(?=[A-Za-z])|^(?:[-+#=]|\d+(?=[.)]))")
# What renderers look for behind the escapes: addresses, e-mail, emoji and icons by name, arrows of characters.
_FOUND_IN_TEXT = re.compile(
    r"(?i:https?|ftps?|mailto|xmpp|www)(?=\\?[:.])|@|:(?=[\w+/-]+\\?:)|<(?=-)|-(?=\\?>)|-(?=-)|[<>~](?==)"
)


def markdown(text: str) -> str:
    """A line of text as Markdown (as Streamlit reads it) that shows just this text: no link, image, formula, HTML."""
    escaped = _MARKDOWN.sub(
        lambda match: "\\" + match[0] if match[0][0] not in "0123456789" else match[0] + _JOINER, plain(text)
    )
    return _FOUND_IN_TEXT.sub(lambda match: match[0] + _JOINER, escaped)


def _escaped(match: re.Match[str]) -> str:
    """A sign that would act, behind a backslash; the number of a list, which cannot be, apart from its point."""
    return match[0] + _JOINER if match[0][0] in "0123456789" else "\\" + match[0]


def markdown_code(text: str) -> str:
    """A line of text as a code span of Markdown."""
    shown = plain(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence} {shown} {fence}" if len(fence) > 1 or shown[:1] in (" ", "`") else f"{fence}{shown}{fence}"


_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?%?\Z")


def csv_cell(text: str) -> str:
    """A text as a cell that a spreadsheet takes for text: what it would compute stands behind an apostrophe."""
    shown = plain(text)
    is_formula = text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBER.match(text)
    return f"'{shown}" if is_formula else shown


def plain_frame(frame: pl.DataFrame, *, longest: int | None = None) -> pl.DataFrame:
    """A frame whose texts are `plain` or, with `longest`, `named`; columns without anything odd stay as they are."""
    import polars as pl

    kinds = {name: kind for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)}
    changed = []
    for name in kinds:
        texts = frame[name].cast(pl.String)
        is_odd = texts.str.contains(_ODD_IN_A_COLUMN).any()
        if is_odd or (longest is not None and (texts.str.len_chars() > longest).any()):
            say = plain if longest is None else lambda text: named(text, longest=longest)
            changed.append(pl.Series(name, [None if text is None else say(text) for text in texts], dtype=pl.String))
    return frame.with_columns(changed) if changed else frame
