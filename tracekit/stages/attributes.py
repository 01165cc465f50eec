"""Which attributes the mappings read, and `batch_spans`, the table that has just those.

To look for a key that a row group does not have makes DuckDB decode all attributes of the row group, to read
one that it has is cheap. So the keys that occur are found first, for each sender, and only those are read; the
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
    some span has.
    """
    statement = queries.text(f"units/{query}")
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW batch_rows AS {statement}")
    keys_of = _keys_of_resources(cursor)
    keys = frozenset[str]().union(*keys_of.values())
    parts = [_narrowed(statement, keys, own, which) for own, which in _senders(keys_of, keys)]
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_spans AS " + "\nUNION ALL\n".join(parts))
    return keys


def _keys_of_resources(cursor: duckdb.DuckDBPyConnection) -> dict[int, frozenset[str]]:
    """The wanted keys that spans of each resource have; no entry for a resource without any."""
    keys_of: dict[int, set[str]] = {}
    for resource_id, key in cursor.execute(queries.text("units/batch_keys")).fetchall():
        if key in wanted_keys():
            keys_of.setdefault(resource_id, set()).add(key)
    return {resource_id: frozenset(keys) for resource_id, keys in keys_of.items()}


def _senders(
    keys_of: dict[int, frozenset[str]], keys: frozenset[str]
) -> list[tuple[frozenset[str], str]]:
    """Groups of resources whose spans have the same keys, as (keys, condition); together they are all spans.

    Spans of one service lie together in the store, so a group mostly meets row groups that have its keys.
    """
    resources_of: dict[frozenset[str], list[int]] = {}
    for resource_id, own in keys_of.items():
        resources_of.setdefault(own, []).append(resource_id)
    if len(resources_of) <= 1 or len(resources_of) > _SENDER_LIMIT:
        return [(keys, "TRUE")]
    groups = [(own, f"spans.resource_id IN ({_listed(ids)})") for own, ids in resources_of.items()]
    return [*groups, (frozenset(), f"spans.resource_id NOT IN ({_listed(keys_of)})")]


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
