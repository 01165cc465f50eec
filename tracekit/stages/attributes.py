"""Which attributes the mappings read, and `batch_spans`, the table that has just those.

To look for a key that a row group does not have makes DuckDB decode all attributes of the row group, to read
one that it has is cheap. So the keys that occur are found first and read in one pass; the rest are NULL.
"""

from __future__ import annotations

import re
from functools import cache

import duckdb

from tracekit import queries

_ATTRIBUTE = re.compile(r"(?:\w+\.)?attributes\['([^']+)'\]")
_ALL_ATTRIBUTES = "spans.attributes"
_NOT_ON_SPANS = {"units/wait_links"}


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
    occurring = cursor.execute(queries.text("units/batch_keys")).fetchall()
    keys = wanted_keys() & {key for (key,) in occurring}
    # Written into the statement itself: from a view, DuckDB decodes all attributes for each of the fields.
    narrowed = statement.replace(_ALL_ATTRIBUTES, f"{_fields(keys)} AS attributes")
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE batch_spans AS {narrowed}")
    return keys


def _fields(keys: frozenset[str]) -> str:
    fields = [f"{_quoted(key)} := {_ALL_ATTRIBUTES}['{key}']::VARCHAR" for key in sorted(keys)]
    return f"struct_pack({', '.join(fields)})" if fields else "NULL"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
