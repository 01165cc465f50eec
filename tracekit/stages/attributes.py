"""Which attributes the mappings read, and `batch_spans`, the table that has just those.

To look for a key that a row group does not have makes DuckDB decode all attributes of the row group, to read
one that it has is cheap. The store knows which keys the spans of each sender have; only those are read, the
rest are NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import duckdb

from tracekit import queries

_ATTRIBUTE = re.compile(r"(?:\w+\.)?attributes\['([^']+)'\]")
_ALL_ATTRIBUTES = "spans.attributes"
_NOT_ON_SPANS = {"units/wait_links"}

# More kinds of senders than this are read in one pass, which finds fewer row groups that can be left out.
_SENDER_LIMIT = 8


@cache
def wanted_keys() -> frozenset[str]:
    """Names of all attributes that the statements in `queries/stages` and `queries/units` read from spans."""
    names = [*queries.names("stages"), *queries.names("units")]
    statements = (queries.text(name) for name in names if name not in _NOT_ON_SPANS)
    return frozenset(key for statement in statements for key in _ATTRIBUTE.findall(statement))


def reading(name: str, *, keys: frozenset[str]) -> str:
    """The statement `queries/<name>.sql` with NULL in place of attributes that are not among `keys`."""
    return _ATTRIBUTE.sub(lambda use: use[0] if use[1] in keys else "NULL::VARCHAR", queries.text(name))


def make_batch_spans(cursor: duckdb.DuckDBPyConnection, query: str) -> frozenset[str]:
    """Make the table `batch_spans` of the spans that `queries/units/<query>.sql` selects.

    Its `attributes` are a struct of texts. Returns the names of the attributes that mappings read and that
    spans may have.
    """
    statement = queries.text(f"units/{query}")
    wanted = {"wanted": sorted(wanted_keys())}
    groups = cursor.execute(queries.text("units/attribute_keys"), wanted).fetchall()
    keys = frozenset[str]().union(*(own for own, _ in groups))
    parts = [_narrowed(statement, keys, frozenset(own), which) for own, which in _senders(groups, keys)]
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_spans AS " + "\nUNION ALL\n".join(parts))
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


def _narrowed(statement: str, keys: frozenset[str], own: frozenset[str], which: str) -> str:
    # Written into the statement itself: from a view, DuckDB decodes all attributes for each of the fields.
    fields = [f"{_quoted(key)} := {_value(key) if key in own else 'NULL::VARCHAR'}" for key in sorted(keys)]
    attributes = f"struct_pack({', '.join(fields)})" if fields else "NULL"
    return f"{statement.replace(_ALL_ATTRIBUTES, f'{attributes} AS attributes')} AND {which}"


def _value(key: str) -> str:
    return f"{_ALL_ATTRIBUTES}['{key}']::VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
