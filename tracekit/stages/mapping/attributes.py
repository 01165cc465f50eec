"""The spans of a batch with their attributes as typed columns: what every mapping reads.

To look for a key that a row group does not have makes DuckDB decode all attributes of the row group, to read
one that it has is cheap. The store knows which keys the spans of each sender have; only those are read, the
rest are NULL.

What is NULL is so in the statement already: over a struct of all the fields that mappings read, a hundred, DuckDB
takes longer to plan the statements of a batch than to run them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import duckdb

from tracekit import queries

# More kinds of senders than this are read in one pass, which finds fewer row groups that can be left out.
_SENDER_LIMIT = 8
_NULL = "NULL::VARCHAR"
# Statements times kinds of batches that a store has.
_KEPT_STATEMENTS = 256
_READ = re.compile(r"\b(?:\w+\.)?attributes\['([^']+)'\]")
"""How every statement over `batch_spans` reads an attribute."""


@lru_cache(maxsize=_KEPT_STATEMENTS)
def batch_statement(name: str, keys: frozenset[str]) -> str:
    """The statement `queries/<name>.sql` over the `batch_spans` of spans that have no attributes but `keys`.

    The others that it reads are NULL in its text.
    """
    return _READ.sub(lambda read: read[0] if read[1] in keys else _NULL, queries.text(name))


def make_batch_spans(cursor: duckdb.DuckDBPyConnection, query: str) -> frozenset[str]:
    """Make the view `batch_spans` of the spans that `queries/units/<query>.sql` selects.

    Its column `attributes` is a struct of texts with those fields of `queries/units/mapped_attributes.sql` that spans
    of the store have, NULL where the span itself does not have the attribute. Returns the names of the fields: what
    reads others is run as `batch_statement` has it.
    """
    cursor.execute(queries.text("units/said_values"))
    mapped = [key for (key,) in cursor.execute(queries.text("units/mapped_attributes")).fetchall()]
    groups = cursor.execute(queries.text("units/attribute_keys"), {"wanted": mapped}).fetchall()
    keys = frozenset[str]().union(*(own for own, _ in groups))
    statement = queries.text(f"units/{query}")
    into = "CREATE OR REPLACE TEMP TABLE batch_rows AS "
    for own, which in _senders(groups, keys):
        _define_read_attributes(cursor, keys, frozenset(own))
        cursor.execute(f"{into}{statement} AND {which}")
        into = "INSERT INTO batch_rows "
    cursor.execute("CREATE OR REPLACE TEMP VIEW batch_spans AS FROM batch_rows")
    return keys


def _senders(groups: list[tuple[list[str], list[int]]], keys: frozenset[str]) -> list[tuple[Iterable[str], str]]:
    """The attributes that each group of resources has, as (keys, condition); together they are all spans.

    Spans of one service lie together in the store, so a group mostly meets row groups that have its keys.
    """
    if len(groups) <= 1 or len(groups) > _SENDER_LIMIT:
        return [(keys, "TRUE")]
    known = [resource_id for _, resource_ids in groups for resource_id in resource_ids]
    of_groups = [(own, f"spans.resource_id IN ({_listed(resource_ids)})") for own, resource_ids in groups]
    return [*of_groups, ((), f"spans.resource_id NOT IN ({_listed(known)})")]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers))


def _define_read_attributes(cursor: duckdb.DuckDBPyConnection, keys: frozenset[str], own: frozenset[str]) -> None:
    """Let `read_attributes` give the struct of `keys` of which the spans at hand have their `own`.

    A macro stands in the statement as if it were written there: from a view, DuckDB decodes all attributes
    for each of the fields.
    """
    fields = {key: f"attributes[{_text(key)}]::VARCHAR" if key in own else _NULL for key in sorted(keys)}
    cursor.execute(f"CREATE OR REPLACE TEMP MACRO read_attributes(attributes) AS {_struct(fields)}")


def _struct(fields: dict[str, str]) -> str:
    packed = ", ".join(f"{_quoted(key)} := {value}" for key, value in fields.items())
    return f"struct_pack({packed})" if fields else _NULL


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
