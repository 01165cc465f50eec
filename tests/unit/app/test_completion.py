"""The words that the SQL page offers are those of the store."""

from __future__ import annotations

from pathlib import Path

import tracekit as tk


def test_every_column_of_every_view_is_offered_with_its_meaning(tmp_path: Path) -> None:
    from investigation.completion import words
    from investigation.store import StoreFile

    path = tmp_path / "store.duckdb"
    with tk.open(path) as store:
        described = store.query("explore/view_columns")
    offered = words(StoreFile(str(path), (1,)))
    columns = {(each["of"], each["word"]) for each in offered if each["kind"] == "column"}
    assert columns == set(described.select("view_name", "column").iter_rows())
    told = {each["word"]: each["told"] for each in offered if each["kind"] == "function"}
    assert {"quantile_cont", "date_trunc", "count"} <= told.keys()
    assert told["date_trunc"]
