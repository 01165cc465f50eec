"""Files by time: who asks for a day does not open those of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracekit
from tests.unit.store.records import span, traces
from tests.unit.warehouse.test_building import written
from tracekit.errors import QueryError
from tracekit.warehouse import LocalEngine, build, views
from tracekit.warehouse.manifest import DataFile
from tracekit.warehouse.views import stretches

HOUR = 3_600_000_000_000


def of_time(name: str, first_ns: int | None, last_ns: int | None) -> DataFile:
    return DataFile("spans", name, 1, 1, first_ns, last_ns)


def named(*files: DataFile) -> list[str]:
    return ["".join(file.path for file in stretch) for stretch in stretches(files, least_bytes=1)]


def test_files_of_the_same_time_are_one_stretch() -> None:
    assert named(of_time("a", 0, 10), of_time("b", 1, 11), of_time("c", 0, 9)) == ["acb"]


def test_files_that_follow_each_other_are_stretches() -> None:
    """Also where they overlap a little; the time of some is not known."""
    found = named(of_time("c", 20, 30), of_time("a", 0, 11), of_time("b", 9, 21), of_time("d", None, None))
    assert found == ["d", "a", "b", "c"]


def test_many_stretches_are_joined_with_their_neighbours() -> None:
    files = [of_time(chr(ord("A") + day), day * 10, day * 10 + 9) for day in range(40)]
    found = stretches(reversed(files), least_bytes=0)
    assert [len(stretch) for stretch in found] == [3] * 13 + [1]
    assert [len(stretch) for stretch in stretches(files, least_bytes=30)] == [30, 10]
    assert [file for stretch in found for file in stretch] == files


def spoil(path: Path) -> None:
    """Leave of a Parquet file what says where its data lie, and no data."""
    content = path.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:4] + bytes(len(content) - footer - 4) + content[-footer:])


def test_a_question_about_a_time_reads_the_files_of_that_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data of the others may be lost; who asks for everything is told so."""
    monkeypatch.setattr(views, "LEAST_BYTES", 0)
    sources = written(
        tmp_path / "s",
        **{f"h{hour}": [traces(span(hour, 1, start=hour * HOUR, end=hour * HOUR + 5))] for hour in (1, 2, 3)},
    )
    for count in (1, 2, 3):
        build(tmp_path / "w", sources[:count], engine=LocalEngine(1), look_back_ns=HOUR)
    with tracekit.open(tmp_path / "w") as store:
        rows = "SELECT count(*), count(DISTINCT span_row) FROM spans"
        assert store.sql(rows.replace("span_row", "rowid").replace("spans", "base.spans")).row(0) == (3, 3)
        for table in ("spans", "units"):
            spoil(min((tmp_path / f"w/data/{table}").iterdir()))
        for table in ("spans", "units"):
            asked = f"SELECT start_ns FROM {table} WHERE start_ns >= $from ORDER BY ALL"
            assert store.sql(asked, **{"from": 2 * HOUR})["start_ns"].to_list() == [2 * HOUR, 3 * HOUR]
            with pytest.raises(QueryError):
                store.sql(f"SELECT start_ns, trace_id FROM {table}")
