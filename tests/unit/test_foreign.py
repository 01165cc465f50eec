"""What senders name things acts on no surface: whatever the text, each border gives text."""

from __future__ import annotations

import csv
import io
import re
import unicodedata

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracekit.foreign import csv_cell, markdown, markdown_code, named, plain, plain_frame, terminal

NASTY = {
    "escape": "a\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://evil\x1b\\here\x1b]8;;\x1b\\",
    "C1": "\x9b31m",
    "bell and back": "\x07\x08\x7f",
    "NUL": "a\x00b",
    "lines": "a\r\nb\u2028c\u2029d\x85e\x0bf\x0cg",
    "override": "a\u202e% 01\u202c",
    "isolate": "\u2066a\u2069\u2067b",
    "surrogate": "a\ud800b",
    "zero width": "a\u200bb\ufeffc\u2060d\u00ade",
    "tags": "a\U000e0041\U000e0042",
    "marks": "z" + "\u0301" * 500,
}
texts = st.text(st.characters(), max_size=40) | st.sampled_from(list(NASTY.values()))
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def acting(text: str, allowed: str = "") -> list[str]:
    """Characters that move, hide or turn something; a left-to-right mark only ends what a letter began."""
    return [
        each for each in text if unicodedata.category(each) in HIDDEN and each not in allowed + "\u200e\u200c\u200d"
    ]


@given(text=texts)
def test_plain_text_has_nothing_that_acts_and_is_the_same_when_done_twice(text: str) -> None:
    shown = plain(text)
    assert acting(shown) == []
    assert plain(shown) == shown
    shown.encode()
    assert acting(terminal(text), "\n") == []
    assert terminal(text).count("\n") == text.count("\n")


@given(text=st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert plain(text) == terminal(text) == text


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_what_is_written_out_can_be_read(text: str) -> None:
    """Nothing is dropped: each character is there, or its number is."""
    shown = plain(text)
    assert len(shown) >= len(text)
    assert shown.isprintable() or "\u200e" in shown


def test_a_number_behind_a_name_of_right_to_left_letters_stays_where_it_is() -> None:
    """Behind each run of such letters stands the mark that ends their direction."""
    assert plain("\u05d0\u05d1 10 %") == "\u05d0\u05d1\u200e 10 %"
    assert plain("\u0627") == "\u0627\u200e"


@given(text=st.text(st.characters(), min_size=0, max_size=400))
@example(text="x" * 3000)
@example(text="\u202e" * 3000)
def test_a_name_in_a_sentence_is_bounded_and_says_how_long_it_is(text: str) -> None:
    shown = named(text)
    assert len(shown) <= 480
    assert acting(shown) == []
    if len(text) > 120:
        assert shown.endswith(f"… ({len(text):,} characters)")


MARKDOWN_ATTACKS = [
    "![x](http://evil/a.png)", "[here](http://evil)", "<img src=x onerror=alert(1)>", "http://evil.example",
    "www.evil.example", "me@evil.example", "`code`", "**bold**", "~~gone~~", "$x^2$", ":red[hot]", ":material/home:",
    ":smile:", "# head", "- item", "1. item", "> quote", "a | b", "[a]: http://evil", "<http://evil>", "&lt;b&gt;",
    "```\nx", "---", "===", "a\n\n![x](http://evil/a.png)", "\\![x](http://evil)", "_em_", "a->b", "x\u202ey",
]  # fmt: skip


@given(
    text=st.text(st.sampled_from("![]()<>`*_~$|:/\\#-+=@.wht p1\n&;"), max_size=25) | st.sampled_from(MARKDOWN_ATTACKS)
)
def test_markdown_leaves_nothing_that_a_renderer_acts_on(text: str) -> None:
    """Streamlit's additions too: directives, formulas, icons and emoji by name, addresses in plain text."""
    shown = markdown(text)
    without_escapes = re.sub(r"\\[!-/:-@\[-`{-~]", "0", shown)
    assert not re.search(r"[\\`*\[\]<>~$|&!]", without_escapes)
    assert not re.search(r":[A-Za-z]", without_escapes)
    told = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown)
    assert told.replace("\u2060", "") == plain(text)
    assert not re.search(r"(?i)https?:|www\.|[\w.]@(?!\u2060)|:[\w+/-]+:", told)


@given(text=texts | st.text(st.sampled_from("`a "), max_size=12))
def test_code_in_markdown_cannot_end_itself(text: str) -> None:
    shown = markdown_code(text)
    fence = re.match("`+", shown)
    assert fence is not None
    inside = shown[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in re.findall("`+", inside)
    assert shown.endswith(fence[0])


@pytest.mark.parametrize("text", ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_computes_nothing_of_a_cell(text: str) -> None:
    assert csv_cell(text)[0] == "'"


@pytest.mark.parametrize("text", ["-1", "+1.5e3", "-0.25", "1,000", "a=b", "x-y", "-5%", ""])
def test_numbers_and_words_are_left_alone(text: str) -> None:
    assert csv_cell(text) == text


def test_frames_are_changed_where_they_must_be_only() -> None:
    frame = pl.DataFrame({"fine": ["a", None], "odd": ["a\x1b", None], "long": ["x" * 300, "y"], "n": [1, 2]})
    shown = plain_frame(frame, longest=120)
    assert shown["fine"].to_list() == ["a", None]
    assert shown["odd"].to_list() == ["a\\x1b", None]
    assert shown["long"][0].endswith("… (300 characters)")
    assert shown.schema == frame.schema
    assert csv.reader(io.StringIO(shown.write_csv()))
