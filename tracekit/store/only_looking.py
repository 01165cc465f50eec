"""Whether a statement that somebody typed only looks: what kind it is, and which functions it calls."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import duckdb

from tracekit import queries
from tracekit.errors import QueryError

# Table functions that tell something and touch nothing; every other one that DuckDB has is refused. `query` and its
# like run text that nobody has looked at.
_HARMLESS_TABLE_FUNCTIONS = frozenset(
    """
    duckdb_columns duckdb_constraints duckdb_databases duckdb_dependencies duckdb_functions duckdb_indexes
    duckdb_keywords duckdb_memory duckdb_schemas duckdb_sequences duckdb_settings duckdb_table_sample
    duckdb_tables duckdb_temporary_files duckdb_types duckdb_views generate_series histogram histogram_values
    icu_calendar_names json_each json_tree pg_timezone_names pragma_collations pragma_database_size
    pragma_platform pragma_show pragma_storage_info pragma_table_info pragma_user_agent pragma_version
    query_table range repeat repeat_row summary test_all_types test_vector_types unnest
    """.split()  # noqa: SIM905
)
_SCALAR_FUNCTIONS_THAT_ACT = frozenset({"currval", "nextval", "setseed", "setval", "sleep_ms", "write_log"})
_SCHEMAS_OF_DUCKDB = frozenset({"main", "pg_catalog", "information_schema", "system"})
_BOUNDED_FUNCTION = re.compile(r"^CREATE MACRO memory\.bounded\.(\w+)", re.MULTILINE)
# The sentence of a bound, which those functions tell as a text that is no number.
_BEYOND_BOUNDS = re.compile(r"Could not convert string '(?P<told>\w+\(\) [^']+ here; [^']+)' to INT(?:64|32)")
_FUNCTIONS_THAT_READ_TYPES = frozenset(
    {"cast_to_type", "from_json", "from_json_strict", "json_transform", "json_transform_strict", "make_type"}
)
_VARIANT = "variant"
# What converts JSON to the type of something beside it, which may be VARIANT, without a word of it: the second half of
# a recursion, the value that fills a list.
_CONVERTING = frozenset({"recursive", "list_resize", "array_resize", "cast_to_type"})
_MAKING_JSON = ("json", "->")
_MOST_CHARACTERS = 131_072
"""Longest statement: what is longer takes seconds to read, in which nothing else of the process is done."""
_LACKING = "Out of Memory"
_NO_ROOM = ("max_temp_directory_size", "No space left on device")
# PIVOT without IN is parsed as several statements, of which the last one looks.
_LOOKING = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)


def check_only_looks(statement: str) -> None:
    """Raise `QueryError` unless the text is one SELECT, or EXPLAIN of one, that calls no function that acts.

    Whatever DuckDB parses as SELECT counts: FROM, VALUES, TABLE, SHOW, DESCRIBE, SUMMARIZE, PIVOT, UNPIVOT. A SELECT
    may still hold INSERT or DELETE in a WITH clause; from those only a read-only transaction keeps. What DuckDB cannot
    read raises its own error.
    """
    if len(statement) > _MOST_CHARACTERS:
        raise QueryError(
            f"a statement may have {_MOST_CHARACTERS} characters here, this one has {len(statement)}; "
            "give long lists as a parameter: `id = ANY($ids)`"
        )
    kinds = [parsed.type for parsed in duckdb.extract_statements(_explained(statement))]
    if len(kinds) != 1 or kinds[0] not in _LOOKING:
        found = ", ".join(kind.name for kind in kinds) or "nothing"
        raise QueryError(f"one SELECT statement is allowed here, this is: {found}")
    words = [word for _, word in _words(statement)]
    if qualified := sorted(_called_by_schema(words) & _bounded_functions()):
        raise QueryError(f"call {', '.join(qualified)} without a schema before it")
    if acting := sorted(_called(words) & _acting_functions()):
        raise QueryError(f"a SELECT may not call {', '.join(acting)} here: it does more than look")
    if _casts_to_variant(words):
        raise QueryError(
            "a SELECT may not cast to VARIANT here: JSON that is nested deeply would end the process; "
            "use JSON, and another name for a column of your own"
        )
    if converting := _converts_json(words):
        raise QueryError(
            f"{converting} may not stand beside JSON here: where it becomes VARIANT, JSON that is nested deeply would "
            "end the process; use text, or attributes['key']"
        )


def told(message: str) -> str:
    """What an error of DuckDB says: that memory or room on disk lacks, or the sentence of a bound."""
    if _LACKING in message:
        where = "room on disk" if any(sign in message for sign in _NO_ROOM) else "memory"
        return (
            f"the query needs more {where} than a question may have; ask for less at once ({message.splitlines()[0]})"
        )
    found = _BEYOND_BOUNDS.search(message)
    return message if found is None else found["told"]


def _explained(statement: str) -> str:
    """The statement that EXPLAIN or EXPLAIN ANALYZE stands before; any other as it is."""
    words = _words(statement)
    if not words or words[0][1].lower() != "explain":
        return statement
    after = 2 if len(words) > 1 and words[1][1].lower() == "analyze" else 1
    if len(words) > after + 1 and words[after][1] == "(" and words[after + 1][1].lower() in ("format", "analyze"):
        after = next((place for place in range(after, len(words)) if words[place][1] == ")"), after) + 1
    return statement.encode()[words[after][0] :].decode() if after < len(words) else ""


def _called(words: list[str]) -> set[str]:
    """Every name with a bracket behind it, without its quotes, in lower case."""
    return {word.strip('"').lower() for word, following in pairwise(words) if following.startswith("(")}


def _called_by_schema(words: list[str]) -> set[str]:
    """Every name with one of DuckDB's own schemas before it and a bracket behind it."""
    words = [word.strip('"').lower() for word in words]
    return {
        words[place + 2]
        for place in range(len(words) - 3)
        if words[place] in _SCHEMAS_OF_DUCKDB and words[place + 1] == "." and words[place + 3].startswith("(")
    }


def _casts_to_variant(words: list[str]) -> bool:
    """Whether the type is named: bare anywhere, in quotes where no name of a column or table can stand.

    A name in a text counts as well where a function reads types from texts.
    """
    called = _called(words)
    reads_types = bool(called & _FUNCTIONS_THAT_READ_TYPES)
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        if word.startswith("'"):
            if reads_types and _VARIANT in word.lower():
                return True
        elif word.strip('"').lower() == _VARIANT:
            may_be_type = before[-1:].isalnum() or before.endswith('"') or (before == "," and "map" in called)
            if not word.startswith('"') or before == "::" or (may_be_type and after[:1] in (")", "[", ",")):
                return True
    return False


def _converts_json(words: list[str]) -> str | None:
    """What might make VARIANT of JSON unasked, in a statement that has JSON."""
    said = [word.strip('"').lower() for word in words if not word.startswith("'")]
    if not any(sign in word for word in said for sign in _MAKING_JSON):
        return None
    return next((word.upper() for word in said if word in _CONVERTING), None)


def _words(statement: str) -> list[tuple[int, str]]:
    """The words and signs of a statement, each with its offset in bytes; remarks are left out."""
    text = statement.encode()
    tokens = duckdb.tokenize(statement)
    ends = [offset for offset, _ in (*tokens[1:], (len(text), None))] if tokens else []
    return [
        (offset, text[offset:end].decode(errors="replace").strip())
        for (offset, kind), end in zip(tokens, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]


@cache
def _acting_functions() -> frozenset[str]:
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type IN ('table', 'pragma')"
        ).fetchall()
    return frozenset(name for (name,) in rows) - _HARMLESS_TABLE_FUNCTIONS | _SCALAR_FUNCTIONS_THAT_ACT


@cache
def _bounded_functions() -> frozenset[str]:
    """Functions that have bounds for those who ask a server."""
    return frozenset(_BOUNDED_FUNCTION.findall(queries.text("store/bounded_functions")))
