"""Every statement says at its top what it is bound to and what it reads, and the statement agrees."""

from __future__ import annotations

import re

import duckdb
import pytest

from tests.sql.headers import header, named_under
from tracekit import queries

# The files of the schema are many statements each, and have tests of their own.
TOPICS = sorted(path.name for path in queries.folder("queries").iterdir() if path.is_dir() and path.name != "schema")
NAMES = [name for topic in TOPICS for name in queries.names(topic)]

TEMPORARY = r"\b(?:tail|batch|dirty|new)_[a-z_]+\b"
"""How the relations are called that one statement leaves for another."""


def code(text: str) -> str:
    """A file without its comments. Literals stay: variables are read by name, as `getvariable('shown_trace')`."""
    return re.sub(r"--.*", "", text)


def relations_told(text: str) -> set[str]:
    """Names that follow `Reads` up to the full stop, what stands in brackets or behind `made by` aside."""
    said = re.search(r"\bReads:? (.*?)\.(?:\s|$)", header(text), flags=re.DOTALL)
    if said is None:
        return set()
    plain = re.sub(r"\([^)]*\)|`[^`]*\.sql`|:.*", "", said[1], flags=re.DOTALL)
    return set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", plain))


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_statement(name: str) -> None:
    """No parameter is kept silent, none is told that is not there."""
    text = queries.text(name)
    used = {one for statement in duckdb.extract_statements(text) for one in statement.named_parameters}
    assert set(named_under(text, "Parameters")) == used


@pytest.mark.parametrize("name", [name for name in NAMES if relations_told(queries.text(name))])
def test_what_a_header_says_it_reads_is_read(name: str) -> None:
    """A relation that is no longer read must leave the header."""
    text = queries.text(name)
    assert {one for one in relations_told(text) if not re.search(rf"\b{one}\b", code(text))} == set()


@pytest.mark.parametrize("name", NAMES)
def test_temporary_relations_that_are_read_are_told(name: str) -> None:
    """What another statement must have made first is named at the top."""
    text = queries.text(name)
    read = set(re.findall(rf"\b(?:FROM|JOIN)\s+({TEMPORARY})", code(text), flags=re.IGNORECASE))
    made = set(re.findall(r"\b([a-z_]+)\s+AS\s+(?:MATERIALIZED\s+)?\(", code(text), flags=re.IGNORECASE))
    assert {one for one in read - made if not re.search(rf"\b{one}\b", header(text))} == set()
