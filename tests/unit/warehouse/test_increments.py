"""Many builds, one after the other: how far each looks back, and the small parts that they leave put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.unit.store.records import gauge, metrics, point, span, traces
from tests.unit.warehouse.equality import unequal_tables
from tests.unit.warehouse.test_building import assert_equal, parent, request, written
from tracekit.errors import UsageError
from tracekit.warehouse import LocalEngine, build
from tracekit.warehouse.compaction import groups_to_merge
from tracekit.warehouse.lookback import LookBack
from tracekit.warehouse.manifest import DataFile, Manifest, Part

ONE = LocalEngine(1)
HOUR = 3_600_000_000_000


def parts(folder: Path) -> list[dict[str, Any]]:
    manifest = json.loads((folder / "manifest.json").read_text())
    return [part for part in manifest["parts"] if part["kind"] == "spans"]


def by_hour(folder: Path, count: int) -> list[Path]:
    """A file an hour: a request that begins in it, the engine's span of the one before, and a reading of a gauge."""
    hours = {}
    for hour in range(1, count + 1):
        at = hour * HOUR
        hours[f"hour-{hour:02d}"] = [
            *request(f"r-{hour}", hour, at=at),
            traces(span(hour + 500, 1, start=at + HOUR - 9, end=at + HOUR + 5)),
            traces(span(hour + 499, 2, start=at - 5, end=at + 1, **parent(1)), service="engine"),
            metrics(gauge("cpu", point(at, hour))),
        ]
    return written(folder, **hours)


def test_increments_with_a_look_back_are_put_together_in_one_commit(tmp_path: Path) -> None:
    """Each hour touches the one before. What is asked stays the same, and what comes later finds its trace."""
    sources = by_hour(tmp_path / "sources", 4)
    folder = tmp_path / "w"
    late = [build(folder, sources[:n], engine=ONE, look_back_ns=HOUR).late_count for n in (1, 2, 3)]
    assert late == [0] * 3
    assert len(parts(folder)) > 1
    assert_equal([folder], sources[:3])
    with tracekit.open(folder) as before:
        build(folder, [], engine=ONE, is_compacting=True)
        (part,) = parts(folder)
        assert (part["first_ns"], part["last_ns"]) == (HOUR - 5, 4 * HOUR + 5)
        with tracekit.open(folder) as after:
            assert not unequal_tables(before.database, after.database)
    build(folder, sources, engine=ONE, look_back_ns=HOUR)
    assert_equal([folder], sources)


def test_what_comes_late_is_counted_and_what_lies_further_back_is_not_looked_for(tmp_path: Path) -> None:
    """A span that comes hours late finds its trace near itself; one that goes on after hours does not, as stated."""
    begun = [traces(span(trace, 1, start=at * HOUR, end=at * HOUR + 9)) for trace, at in ((1, 1), (2, 6))]
    newest = traces(span(3, 1, start=11 * HOUR, end=11 * HOUR))
    late = traces(span(1, 2, start=HOUR + 2, end=HOUR + 3, **parent(1)))
    further = traces(span(2, 2, start=15 * HOUR, end=15 * HOUR + 1, **parent(1)))
    first, second = written(tmp_path / "s", a=[*begun, newest], b=[late, further])
    units = {}
    for look_back_ns in (2 * HOUR, 20 * HOUR):
        folder = tmp_path / f"w-{look_back_ns}"
        build(folder, [first], engine=ONE, part_count=20)
        built = build(folder, [second], engine=ONE, look_back_ns=look_back_ns)
        assert (built.late_count, built.report.spans) == (int(look_back_ns == 2 * HOUR), 2)
        with tracekit.open(folder) as store:
            units[look_back_ns] = store.sql("SELECT count(*) FROM units WHERE trace_id = $t", t=f"{2:032x}").item()
    assert units == {2 * HOUR: 2, 20 * HOUR: 1}
    assert_equal([folder], [first, second])


def of_time(number: int, first_ns: int | None, last_ns: int | None, *, has_jobs: bool = False) -> Part:
    return Part(number, "spans", (DataFile("spans", f"data/{number}", 1, 1),), first_ns, last_ns, has_jobs)


def test_parts_that_may_hold_what_belongs_together_are_near() -> None:
    """Those within the look-back of a new span; always those with jobs, and those whose time nobody noted."""
    old = Manifest(
        parts=(
            of_time(1, 0, HOUR),
            of_time(2, 3 * HOUR, 4 * HOUR),
            of_time(3, 20 * HOUR, 21 * HOUR),
            of_time(4, None, None),
            of_time(5, 0, HOUR, has_jobs=True),
            of_time(6, 5 * HOUR, 30 * HOUR),
        )
    )

    def near(reach_ns: int | None, *hours: tuple[int, int]) -> list[int]:
        return [part.number for part in LookBack(reach_ns).near(old, hours)]

    assert near(HOUR, (5, 5)) == [2, 4, 5, 6]
    assert near(0, (0, 0), (22, 23)) == [1, 4, 5, 6]
    assert near(0, (1, 25)) == [1, 2, 3, 4, 5, 6]
    assert near(None, (50, 50)) == [1, 2, 3, 4, 5, 6]
    assert (LookBack(HOUR).late_before_ns(old), LookBack().late_before_ns(old)) == (29 * HOUR, None)


def test_a_job_is_whole_whatever_the_look_back(tmp_path: Path) -> None:
    """Processes of training jobs are looked for everywhere."""
    said = {"tracekit.job.id": "j", "tracekit.rank": 0, "tracekit.world_size": 1}
    step = {"attributes": [{"key": "tracekit.step", "value": {"intValue": "1"}}]}
    files = {
        f"s{n}": [traces(span(n, 1, start=n * 9 * HOUR, end=n * 9 * HOUR + 9, name="step", **step), **said)]
        for n in (1, 2)
    }
    sources = written(tmp_path / "s", **files)
    for count in (1, 2):
        build(tmp_path / "w", sources[:count], engine=ONE, look_back_ns=0)
    assert_equal([tmp_path / "w"], sources)


def test_nothing_to_put_together_changes_nothing(tmp_path: Path) -> None:
    (source,) = written(tmp_path / "s", a=[traces(span(1, 1))])
    build(tmp_path / "w", [source], engine=ONE)
    before = (tmp_path / "w/manifest.json").read_bytes()
    build(tmp_path / "w", [], engine=ONE, is_compacting=True)
    assert (tmp_path / "w/manifest.json").read_bytes() == before


def of_rows(number: int, rows: int, first_ns: int) -> Part:
    return Part(number, "spans", (DataFile("spans", f"data/{number}", rows, 1),), first_ns, first_ns)


def test_neighbours_in_time_go_together_up_to_a_whole_part() -> None:
    parts = [of_rows(1, 80_000, 30), of_rows(2, 80_000, 10), of_rows(3, 160_000, 15), of_rows(4, 80_000, 20)]
    groups = groups_to_merge([*parts, of_rows(5, 70_000, 40)], most_small=1)
    assert [[part.number for part in group] for group in groups] == [[2, 4], [1, 5]]
    assert groups_to_merge(parts, most_small=3) == []


def test_a_look_back_of_less_than_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a look-back is a time of zero or more"):
        build(tmp_path / "w", [], engine=ONE, look_back_ns=-1)
