"""A warehouse as a store that is only read, and folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracekit
from tests.unit.store.records import json_lines, span, traces
from tracekit.errors import QueryError, StoreError, StoreVersionError
from tracekit.warehouse import LocalEngine, build


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """One trace of two spans."""
    source = tmp_path / "traces.jsonl"
    source.write_bytes(json_lines([traces(span(1, 1), span(1, 2, parentSpanId=f"{1:016x}"))]))
    build(tmp_path / "warehouse", [source], engine=LocalEngine(1))
    return tmp_path / "warehouse"


def change(warehouse: Path, **fields: object) -> None:
    path = warehouse / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_it_answers_and_takes_nothing(warehouse: Path) -> None:
    with tracekit.open(warehouse) as store:
        assert store.sql("SELECT count(*) FROM spans").item() == 2
        with pytest.raises(StoreError, match="only read here; add sources with `tracekit build"):
            store.ingest(warehouse)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM base.resources",
        "COPY (SELECT 1) TO '{folder}/data/new.parquet'",
        "FROM read_parquet('{folder}/data/spans/*.parquet')",
        "FROM read_text('/etc/passwd')",
        "ATTACH '{folder}/other.duckdb'",
        "SET enable_external_access = true",
    ],
)
def test_sql_reaches_no_file_and_changes_nothing(warehouse: Path, statement: str) -> None:
    """The views read the files of the manifest; who asks does not."""
    before = sorted(path.name for path in warehouse.rglob("*"))
    with tracekit.open(warehouse) as store, pytest.raises(QueryError):
        store.sql(statement.format(folder=warehouse))
    assert sorted(path.name for path in warehouse.rglob("*")) == before


def test_files_are_portable(warehouse: Path) -> None:
    """Ids are hexadecimal text, and no column has a type without a sign."""
    import pyarrow.parquet

    (path,) = (warehouse / "data/spans").glob("*.parquet")
    table = pyarrow.parquet.read_table(path, columns=["trace_id", "span_id", "parent_span_id", "flags", "kind"])
    assert table.to_pylist()[1]["span_id"] == f"{2:016x}"
    assert table.to_pylist()[1]["parent_span_id"] == f"{1:016x}"
    assert len(table["trace_id"][0].as_py()) == 32
    kinds = {str(field.type) for file in warehouse.rglob("*.parquet") for field in pyarrow.parquet.read_schema(file)}
    assert not {kind for kind in kinds if kind.startswith("uint")}


def test_what_it_reads_is_what_the_manifest_names(warehouse: Path) -> None:
    """A file that a dead attempt left is no part of it, though it lies beside the others."""
    (path,) = (warehouse / "data/spans").glob("*.parquet")
    path.with_name("000099-left.parquet").write_bytes(path.read_bytes())
    with tracekit.open(warehouse) as store:
        assert store.sql("SELECT count(*) FROM spans").item() == 2


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is a folder without manifest\.json, so no warehouse"):
        tracekit.open(tmp_path)


def test_a_missing_file_is_named(warehouse: Path) -> None:
    (path,) = (warehouse / "data/units").glob("*.parquet")
    path.unlink()
    with pytest.raises(StoreError, match=f"lacks data/units/{path.name}, which its manifest names"):
        tracekit.open(warehouse)


def test_a_newer_manifest_is_refused(warehouse: Path) -> None:
    change(warehouse, version=2)
    with pytest.raises(StoreVersionError, match="is a warehouse of version 2, this tracekit knows versions up to 1"):
        tracekit.open(warehouse)


def test_tables_of_another_version_are_refused(warehouse: Path) -> None:
    change(warehouse, schema_version=1)
    with pytest.raises(StoreVersionError, match="build it anew from its sources"):
        tracekit.open(warehouse)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": "tracekit-warehouse", "version": 1}', '{"format": "other"}']
)
def test_what_is_no_manifest_is_refused(warehouse: Path, content: str) -> None:
    (warehouse / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match=r"manifest\.json"):
        tracekit.open(warehouse)


def test_a_manifest_reaches_no_file_outside(warehouse: Path) -> None:
    part = {"number": 0, "kind": "spans", "files": [{"table": "spans", "path": "../x", "rows": 1, "size_bytes": 1}]}
    change(warehouse, parts=[part])
    with pytest.raises(StoreError, match="lies outside the warehouse"):
        tracekit.open(warehouse)
