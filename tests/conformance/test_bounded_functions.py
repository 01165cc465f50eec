"""Functions that make much out of little are bounded for whoever asks a server, and else do what DuckDB's own do."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import tracekit as tk
from tracekit.store import Database, WatchedDatabase, read_only_sql
from tracekit.store.only_looking import check_only_looks

_ROWS = "FROM (VALUES ('name 1', 1), ('name 20', 20), (NULL, NULL)) AS rows(name, count)"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A served store as a question sees it."""
    path = tmp_path_factory.mktemp("bounded") / "store.duckdb"
    with Database.serve(path, row_group_rows=2048) as database:
        yield WatchedDatabase(database, lambda cursor: None, {})


@pytest.mark.parametrize(
    "expressions",
    [
        "replace(name, 'a', 'b') AS n, n || 'x'",
        "repeat(name, count), repeat([1, 2], count), repeat('ab'::BLOB, 2), repeat('a', '3'), repeat('a', -1)",
        "lpad(name, 10, 'x'), rpad(name, 3, 'y'), bar(count, 0, 10), bar(count, 0, 10, 20)",
        "bitstring('101', 10), range(count), range(1, count), range(10, 1, -2), generate_series(count)",
        "range(TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-03', INTERVAL 1 DAY)",
        "list_resize([1], 3), list_resize([1], 3, 7), array_resize(['a'], 2, 'b')",
        "array_to_string(['a', name], ','), array_to_string([1, 2], '-')",
        "levenshtein(name, 'abd'), editdist3(name, 'b'), damerau_levenshtein(name, 'ba')",
        r"regexp_replace(name, '(\d+)', '<\1>', 'g'), regexp_replace(name, 'a', 'b')",
        "hex(name), hex(count), hex('a'::BLOB), to_hex(10), bin(5), to_binary(name)",
        "to_base64('a'), base64('a'::BLOB), url_encode(name), regexp_escape(name)",
        "format('{:>10} {:.2f} 123456', name, 1.5), format('{{}} {}', count), format('a')",
        "printf('%d %5s|%% 100000', 1, name), printf('%.3f', 1.5)",
        "[replace(each, 'a', 'b') FOR each IN [name, 'a']], name.replace('a', 'b')",
        "row_number() OVER (ORDER BY replace(name, 'a', 'b'))",
    ],
)
def test_within_its_bounds_each_does_what_duckdbs_own_does(asked: Database, expressions: str) -> None:
    """Types, NULL, aliases, lambdas and windows included."""
    statement = f"SELECT {expressions} {_ROWS} ORDER BY ALL"
    with duckdb.connect() as own:
        expected = own.execute(statement).fetchall()
    assert asked.cursor().execute(statement).fetchall() == expected


def test_groups_are_found_by_such_values(asked: Database) -> None:
    """By the expression and by its alias."""
    by_expression = f"SELECT replace(name, 'a', 'b'), count(*) {_ROWS} GROUP BY replace(name, 'a', 'b') ORDER BY 1"
    by_alias = f"SELECT replace(name, 'a', 'b') AS n, count(*) {_ROWS} GROUP BY n HAVING replace(n, 'b', 'c') > ''"
    assert asked.cursor().execute(by_expression).fetchall() == [("nbme 1", 1), ("nbme 20", 1), (None, 1)]
    assert sorted(asked.cursor().execute(by_alias).fetchall()) == [("nbme 1", 1), ("nbme 20", 1)]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("repeat('a', 16385)", "repeat() makes at most 16384 characters here; ask for a shorter value"),
        ("repeat([repeat('a', 10000)], 100)", "repeat() makes"),
        ("repeat('a'::BLOB, 100000)", "repeat() makes"),
        ("lpad('a', 16385, 'b')", "lpad() makes"),
        ("rpad('a', 16385, 'b')", "rpad() makes"),
        ("bar(1, 0, 2, 1000000000)", "bar() makes"),
        ("bitstring('1', 2000000000)", "bitstring() makes"),
        ("range(65537)", "range() makes lists of at most 65536 entries here; use FROM range(...)"),
        ("range(0, -100000, -1)", "range() makes"),
        ("range(TIMESTAMP '2020-01-01', TIMESTAMP '2030-01-01', INTERVAL 1 SECOND)", "range() makes"),
        ("generate_series(0, 65537)", "generate_series() makes"),
        ("list_resize([1], 70000)", "list_resize() makes"),
        ("array_resize(['a'], 20000, repeat('a', 10000))", "list_resize() makes"),
        ("array_to_string(range(60000), repeat('x', 10000))", "array_to_string() puts"),
        ("levenshtein(repeat('a', 16000), repeat('b', 16000))", "levenshtein() compares"),
        ("damerau_levenshtein(repeat('a', 16000), repeat('b', 16000))", "damerau_levenshtein() compares"),
        ("replace(repeat('a', 16000), 'a', repeat('b', 16000))", "replace() makes"),
        ("regexp_replace(repeat('a', 16000), 'a', repeat('b', 16000), 'g')", "regexp_replace() makes"),
        ("hex(hex(hex(hex(hex(hex(repeat('a', 16000)))))))", "hex() takes"),
        ("url_encode(hex(hex(hex(hex(hex(repeat('a', 16000)))))))", "url_encode() takes"),
        ("to_base64(hex(hex(hex(hex(hex(repeat('a', 16000))))))::BLOB)", "to_base64() takes"),
        ("format('{:>1000000000}', 'x')", "format() takes widths"),
        ("format('{:>{}}', 'x', 1000000000)", "format() takes widths"),
        ("format(repeat('{0}', 5000), 'x')", "format() takes a template"),
        ("printf('%1000000000d', 5)", "printf() takes widths"),
        ("printf('%.1000000000f', 5.0)", "printf() takes widths"),
    ],
)
def test_beyond_its_bounds_each_says_so(asked: Database, expression: str, told: str) -> None:
    """Before anything large is made, with a sentence of its own and nothing of how it is told."""
    with pytest.raises(tk.QueryError) as refused:
        read_only_sql(asked, f"SELECT length({expression}::VARCHAR)")
    assert str(refused.value).startswith(told)
    assert "convert" not in str(refused.value)


@pytest.mark.parametrize("call", ["replace({}, 'a', 'b')", "repeat({}, 1)", "hex({})[:5]", "format('{{}}', {})"])
def test_calls_within_calls_are_bound_at_once(asked: Database, call: str) -> None:
    """An argument is written out once, not once a use: sixty calls deep would be 3 to the sixtieth."""
    nested = "'abc'"
    for _ in range(60):
        nested = call.format(nested)
    assert read_only_sql(asked, f"SELECT {nested}").frame.height == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT (repeat('[', 16000) || repeat(']', 16000))::JSON::VARIANT",
        "SELECT CAST('[1]'::JSON AS VARIANT)",
        "SELECT TRY_CAST('[1]'::JSON AS variant)",
        "SELECT '[1]'::JSON::\"VARIANT\"",
        "SELECT CAST('[1]'::JSON AS \"Variant\")",
        "SELECT {'a': '[1]'::JSON}::STRUCT(a VARIANT)",
        "SELECT {'a': '[1]'::JSON}::STRUCT(\"a\" \"VARIANT\")",
        "SELECT ['[1]'::JSON]::VARIANT[]",
        'SELECT MAP {}::MAP(VARCHAR, "VARIANT")',
        "SELECT from_json('[1]', '\"VARIANT\"')",
        "SELECT json_transform('[1]', '[\"variant\"]')",
        "SELECT cast_to_type('[1]'::JSON, NULL::VARIANT)",
    ],
)
def test_json_that_is_nested_deeply_is_never_made_variant(asked: Database, statement: str) -> None:
    """DuckDB does so by recursion: 16,000 brackets end the whole process."""
    with pytest.raises(tk.QueryError, match="may not cast to VARIANT here"):
        read_only_sql(asked, statement)


DEEP = "(repeat('[', 16000) || repeat(']', 16000))"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (f"SELECT cast_to_type({DEEP}::JSON, attributes) FROM base.spans", "CAST_TO_TYPE"),
        (f"SELECT list_resize([attributes], 5, {DEEP}::JSON) FROM base.spans", "LIST_RESIZE"),
        (f"SELECT array_resize([attributes], 5, {DEEP} -> '$') FROM base.spans", "ARRAY_RESIZE"),
        (
            "WITH RECURSIVE found AS (SELECT attributes, 0 AS n FROM base.spans UNION ALL "
            f"SELECT {DEEP}::JSON, n + 1 FROM found WHERE n < 1) SELECT count(*) FROM found",
            "RECURSIVE",
        ),
    ],
)
def test_json_does_not_take_the_type_of_a_variant_beside_it(asked: Database, statement: str, found: str) -> None:
    """DuckDB converts it there unasked, by the same recursion."""
    with pytest.raises(tk.QueryError, match=f"{found} may not stand beside JSON here"):
        read_only_sql(asked, statement)


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT attributes FROM base.spans UNION ALL SELECT {DEEP}::JSON",
        f"SELECT [attributes, {DEEP}::JSON] FROM base.spans",
        f"SELECT coalesce(attributes, {DEEP}::JSON) FROM base.spans",
        f"SELECT lag(attributes, 1, {DEEP}::JSON) OVER () IS NULL FROM base.spans",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT [i] FROM n",
        "SELECT list_resize([1], 2)",
    ],
)
def test_what_makes_json_of_a_variant_is_answered(asked: Database, statement: str) -> None:
    assert read_only_sql(asked, statement).frame.width == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT span_attributes['variant'] FROM spans",
        "SELECT typeof(1) = 'VARIANT', 1 AS \"variant\"",
        'SELECT sum("variant"), max(own."variant") FROM own GROUP BY "variant"',
        "SELECT variant_typeof(span_attributes) FROM spans",
    ],
)
def test_a_name_or_text_that_says_variant_is_none(statement: str) -> None:
    """Of a column of one's own in quotes, of an attribute, of a function."""
    check_only_looks(statement)


def test_a_statement_has_a_length(asked: Database) -> None:
    """Reading one of a megabyte keeps the whole process from all else; a long list is a parameter."""
    numbers = list(range(30_000))
    with pytest.raises(tk.QueryError, match=r"131072 characters here, this one has 1\d{5}; give long lists"):
        read_only_sql(asked, f"SELECT 5 IN ({','.join(map(str, numbers))})")
    answer = read_only_sql(asked, "SELECT 5 = ANY($numbers) AS found", parameters={"numbers": numbers})
    assert answer.frame["found"].to_list() == [True]
