"""A build in one run or in many: rows and answers are those of a store that ingested the same files."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tests.unit.store.records import gauge, json_lines, logs, metrics, point, span, traces
from tests.unit.warehouse.equality import dealt, unequal_answers, unequal_tables
from tracekit.errors import StoreError, StoreLockedError, UsageError
from tracekit.warehouse import LocalEngine, build

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
ONE = LocalEngine(1)


def written(folder: Path, **documents: list[dict[str, object]]) -> list[Path]:
    """Files of OTLP/JSON lines by name."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{name}.jsonl" for name in documents]
    for path, content in zip(paths, documents.values(), strict=True):
        path.write_bytes(json_lines(content))
    return paths


def assert_equal(warehouses: list[Path], sources: list[Path]) -> None:
    """A store that ingests the sources has the rows of each warehouse."""
    with tracekit.open(None) as local:
        local.ingest(*sources)
        for warehouse in warehouses:
            with tracekit.open(warehouse) as built:
                assert not unequal_tables(local.database, built.database)


def parent(number: int) -> dict[str, str]:
    return {"parentSpanId": f"{number:016x}"}


@pytest.fixture(scope="module")
def sample_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The samples of serving and training, their lines dealt over four files, thirty of them twice."""
    found = sorted(SAMPLES.rglob("*.jsonl"))
    return dealt(found, tmp_path_factory.mktemp("dealt"), count=4, repeated=30)


def test_many_parts_give_what_one_file_gives(sample_files: list[Path], tmp_path: Path) -> None:
    """Serving and training: every row, every answer, the counts of every source; in whatever order they are named."""
    report = build(tmp_path / "w", reversed(sample_files), engine=ONE, part_count=3).report
    with tracekit.open(None) as local, tracekit.open(tmp_path / "w") as built:
        assert report.as_dict() == local.ingest(*sample_files).as_dict()
        assert not unequal_tables(local.database, built.database)
        assert not unequal_answers(local, built)


def test_many_runs_give_what_one_gives(sample_files: list[Path], tmp_path: Path) -> None:
    """Each run reads what is new, and makes the traces, steps and jobs anew that it touches."""
    for count in range(1, len(sample_files) + 1):
        built = build(tmp_path / "w", sample_files[:count], engine=ONE, part_count=2)
        assert [Path(file.path) for file in built.report.files] == [sample_files[count - 1]]
        assert built.known_count == count - 1
    assert_equal([tmp_path / "w"], sample_files)


def test_a_difference_is_seen(tmp_path: Path) -> None:
    """What these tests compare by tells a warehouse that lacks a file from one that has it."""
    sources = written(tmp_path / "sources", a=[traces(span(1, 1))], b=[traces(span(1, 2, **parent(1)))])
    build(tmp_path / "w", sources[1:], engine=ONE)
    with tracekit.open(None) as local, tracekit.open(tmp_path / "w") as built:
        local.ingest(*sources)
        assert {"spans", "units", "ingests"} <= set(unequal_tables(local.database, built.database))


def request(name: str, trace: int, *, at: int = 0) -> list[dict[str, object]]:
    """A gateway's trace and an engine's that both name the request."""
    said = {"attributes": [{"key": "request_id", "value": {"stringValue": name}}]}
    front = span(trace, 1, start=at + 1000, end=at + 9000, name="front", kind=2, **said)
    back = span(trace + 1000, 2, start=at + 2000, end=at + 8000, name="llm_request", kind=2, **said)
    return [traces(front, service="gateway"), traces(back, service="engine")]


CASES: dict[str, Callable[[], dict[str, list[dict[str, object]]]]] = {
    "a trace over three files": lambda: {
        "a": [traces(span(1, 3, start=4, end=6, **parent(2)))],
        "b": [traces(span(1, 1, start=1, end=9)), traces(span(2, 1, start=1, end=5))],
        "c": [traces(span(1, 2, start=2, end=8, **parent(1)), service="other")],
    },
    "requests over two traces in files of their own": lambda: {
        "a": [document for trace in range(1, 20) for document in request(f"r-{trace}", trace)[:1]],
        "b": [document for trace in range(1, 20) for document in request(f"r-{trace}", trace)[1:]],
    },
    "a name that too many traces have": lambda: {
        "a": [document for trace in range(1, 45) for document in request("same", trace, at=trace * 10_000)],
        "b": [document for trace in range(45, 90) for document in request("same", trace, at=trace * 10_000)],
    },
    "spans that come again, and others with their ids": lambda: {
        "a": [traces(span(1, 1), span(1, 2), span(1, 2), span(2, 1))],
        "b": [traces(span(1, 1), span(1, 2, name="other"), span(2, 1, start=7, end=9))],
    },
    "metrics and logs that come again": lambda: {
        "a": [metrics(gauge("cpu", point(1, 2), point(2, 3), point(1, 2))), logs({"timeUnixNano": "1"})],
        "b": [metrics(gauge("cpu", point(2, 3), point(3, 4))), metrics(gauge("gpu", point(2, 3)))],
        "c": [logs({"timeUnixNano": "1"}, {"timeUnixNano": "2"}, {"observedTimeUnixNano": "5"})],
    },
    "a giant trace among small ones": lambda: {
        "a": [traces(*(span(1, number, start=1, end=9, **parent(number - 1)) for number in range(2, 400)))],
        "b": [traces(span(1, 1, start=1, end=9)), *(traces(span(trace, 1)) for trace in range(2, 20))],
    },
    "spans that cannot be": lambda: {
        "a": [traces(span(1, 1), {"traceId": "zz", "spanId": "1"}, span(0, 0)), {"resourceSpans": "no"}],
        "b": [traces(span(1, 2, start=9, end=1))],
    },
}


def apart(document: dict[str, Any], number: int) -> dict[str, Any]:
    """The document with traces of its own for the case of this number."""
    text = json.dumps(document)
    return json.loads(re.sub(r'"traceId": "0{16}', f'"traceId": "{number:016x}', text))


def test_one_run_and_many_give_what_a_store_gives(tmp_path: Path) -> None:
    """All cases in the same files: a build costs its start, and the traces of one case are no others'."""
    files: dict[str, list[dict[str, Any]]] = {"a": [], "b": [], "c": []}
    for number, case in enumerate(CASES.values(), 1):
        for name, documents in case().items():
            files[name] += [apart(document, number) for document in documents]
    sources = written(tmp_path / "sources", **files)
    build(tmp_path / "once", sources, engine=ONE, part_count=2)
    for count in range(1, len(sources) + 1):
        build(tmp_path / "often", sources[:count], engine=ONE, part_count=2)
    assert_equal([tmp_path / "once", tmp_path / "often"], sources)


def test_processes_give_what_one_gives(tmp_path: Path) -> None:
    sources = written(tmp_path / "sources", **{f"s{n}": [traces(span(n, 1), span(9, n + 9))] for n in range(1, 5)})
    with LocalEngine(2) as engine:
        build(tmp_path / "w", sources, engine=engine, part_count=2)
    assert_equal([tmp_path / "w"], sources)


def test_a_corrupt_file_costs_itself_only(tmp_path: Path) -> None:
    """A file that is no telemetry, one that is cut off, an empty one and one that is not there, among good ones."""
    sources = written(tmp_path / "sources", good=[traces(span(1, 1))], later=[traces(span(2, 1))])
    for name, content in {"cut": json_lines([traces(span(3, 1))] * 2)[:-40], "empty": b"", "noise": b"\0noise"}.items():
        (tmp_path / "sources" / name).write_bytes(content)
        sources.append(tmp_path / "sources" / name)
    asked = sorted([*sources, tmp_path / "gone"])
    built = build(tmp_path / "w", asked, engine=ONE)
    with tracekit.open(None) as local:
        assert built.report.as_dict() == local.ingest(*asked).as_dict()
    assert_equal([tmp_path / "w"], asked)
    assert not built.report.is_complete


def test_a_source_that_vanishes_stays_in_the_warehouse(tmp_path: Path) -> None:
    first, second = written(tmp_path / "sources", a=[traces(span(1, 1))], b=[traces(span(1, 2))])
    build(tmp_path / "w", [first.parent], engine=ONE)
    first.unlink()
    built = build(tmp_path / "w", [second.parent], engine=ONE)
    assert (built.report.files, built.known_count) == ((), 1)
    with tracekit.open(tmp_path / "w") as store:
        assert store.sql("SELECT count(*) FROM spans").item() == 2


def test_a_source_that_grew_is_read_again(tmp_path: Path) -> None:
    """What it had is there already, what is new comes to it."""
    (source,) = written(tmp_path / "sources", a=[traces(span(1, 1))])
    build(tmp_path / "w", [source], engine=ONE)
    source.write_bytes(json_lines([traces(span(1, 1)), traces(span(1, 2))]))
    report = build(tmp_path / "w", [source], engine=ONE).report
    assert (report.spans, report.duplicates) == (1, 1)


def test_files_from_before_a_time_are_left_out_and_counted(tmp_path: Path) -> None:
    old, new = written(tmp_path / "sources", a=[traces(span(1, 1))], b=[traces(span(2, 1))])
    os.utime(old, ns=(0, 10**9))
    built = build(tmp_path / "w", [old, new], engine=ONE, since_ns=2 * 10**9)
    assert (built.report.spans, built.left_out_count) == (1, 1)


def test_nothing_new_changes_nothing(tmp_path: Path) -> None:
    sources = written(tmp_path / "sources", a=[traces(span(1, 1))])
    build(tmp_path / "w", sources, engine=ONE)
    before = (tmp_path / "w/manifest.json").read_bytes()
    build(tmp_path / "w", sources, engine=ONE)
    assert (tmp_path / "w/manifest.json").read_bytes() == before


def test_a_second_build_at_once_is_refused(tmp_path: Path) -> None:
    sources = written(tmp_path / "sources", a=[traces(span(1, 1))])
    build(tmp_path / "w", sources, engine=ONE)
    with (tmp_path / "w/build.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreLockedError, match="is being built by process"):
            build(tmp_path / "w", sources, engine=ONE)


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    sources = written(tmp_path / "sources", a=[traces(span(1, 1))])
    with pytest.raises(StoreError, match=r"holds 'a\.jsonl' and no warehouse; name an empty or a new folder"):
        build(tmp_path / "sources", sources, engine=ONE)
    assert [path.name for path in (tmp_path / "sources").iterdir()] == ["a.jsonl"]


def test_standard_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="save standard input to a file first"):
        build(tmp_path / "w", ["-"], engine=ONE)


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from tracekit.warehouse import LocalEngine, build
    from tracekit.warehouse import manifest
    manifest.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    build(sys.argv[1], sys.argv[2:], engine=LocalEngine(1))
"""


def test_a_build_that_is_killed_before_its_commit_changes_nothing(tmp_path: Path) -> None:
    """Its files lie there, are read by nobody, and are gone after the next build, which makes up for it."""
    sources = written(tmp_path / "sources", a=[traces(span(1, 1))], b=[traces(span(1, 2)), logs({"timeUnixNano": "1"})])
    build(tmp_path / "w", sources[:1], engine=ONE)
    before = (tmp_path / "w/manifest.json").read_bytes()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), tmp_path / "w", *sources]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "w/manifest.json").read_bytes() == before
    assert (tmp_path / "w/staging").exists()
    with tracekit.open(tmp_path / "w") as store:
        assert store.sql("SELECT count(*) FROM spans").item() == 1
    build(tmp_path / "w", sources, engine=ONE)
    assert_equal([tmp_path / "w"], sources)
    build(tmp_path / "w", sources, engine=ONE)
    named = {file["path"] for part in manifest_of(tmp_path / "w")["parts"] for file in part["files"]}
    found = {path.relative_to(tmp_path / "w").as_posix() for path in (tmp_path / "w/data").rglob("*.parquet")}
    assert found == named
    assert not (tmp_path / "w/staging").exists()


def manifest_of(warehouse: Path) -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    found: dict[str, list[dict[str, list[dict[str, str]]]]] = json.loads((warehouse / "manifest.json").read_text())
    return found


def killing_once(task: tuple[str, int]) -> int:
    """Kill this worker the first time that any task runs; later only answer."""
    flag, value = task
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return value
    os.kill(os.getpid(), signal.SIGKILL)
    return -1


def killing(task: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_the_tasks_of_a_killed_worker_run_again(tmp_path: Path) -> None:
    with LocalEngine(2) as engine:
        assert engine.run(killing_once, [(str(tmp_path / "flag"), value) for value in range(6)]) == [*range(6)]


def test_workers_that_are_always_killed_end_the_build() -> None:
    with LocalEngine(2) as engine, pytest.raises(StoreError, match="were ended from outside 3 times"):
        engine.run(killing, [1, 2])
