"""Sources in an object store, over its real API: what is found, what is read, what it says when it cannot."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import tracekit
from tests.unit.store.records import json_lines, span, traces
from tests.unit.warehouse.equality import unequal_tables
from tests.unit.warehouse.object_store import BUCKET, ObjectStore, object_store
from tracekit.errors import QueryError, StoreError, UsageError
from tracekit.ingest import Source, find
from tracekit.warehouse import LocalEngine, build
from tracekit.warehouse.object_reading import ObjectFile

ONE = LocalEngine(1)
DAY = "otlp/year=2026/month=12/day=01"


@pytest.fixture(scope="module")
def running() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def store(running: ObjectStore) -> ObjectStore:
    """The store with an empty bucket."""
    running.system.delete_dir_contents(BUCKET)
    running.requests.clear()
    return running


def keys(sources: list[Source]) -> list[str]:
    assert not [source.error for source in sources if source.error]
    return [source.name.removeprefix(f"s3://{BUCKET}/") for source in sources]


def as_protobuf(trace: int) -> bytes:
    """A request of the protocol as the Collector's exporter writes it: an object each, without framing."""
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add()
    made.trace_id, made.span_id, made.name = trace.to_bytes(16, "big"), b"12345678", "work"
    made.start_time_unix_nano, made.end_time_unix_nano = 1, 2
    return request.SerializeToString()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("a/b.json", ["a/b.json"]),
        ("a", ["a/b.json", "a/c/d.json", "a/c/e.pb"]),
        ("a/", ["a/b.json", "a/c/d.json", "a/c/e.pb"]),
        ("a/c/d", ["a/c/d.json"]),
        ("a*", ["a/b.json", "a/c/d.json", "a/c/e.pb", "aa/f.json"]),
        ("a*/*.json", ["a/b.json", "aa/f.json"]),
        ("**/*.json", ["a/b.json", "a/c/d.json", "aa/f.json"]),
        ("a/**", ["a/b.json", "a/c/d.json", "a/c/e.pb"]),
        ("a/?/[de].*", ["a/c/d.json", "a/c/e.pb"]),
        ("", ["a/b.json", "a/c/d.json", "a/c/e.pb", "aa/f.json"]),
    ],
)
def test_names_prefixes_and_patterns_find_objects(store: ObjectStore, asked: str, found: list[str]) -> None:
    for key in ("a/b.json", "a/c/d.json", "a/c/e.pb", "aa/f.json"):
        store.put(key, b"x")
    assert keys(find([f"s3://{BUCKET}/{asked}"])) == found
    assert keys(find([f"s3a://{BUCKET}/{asked}"])) == found


def test_a_pattern_lists_only_what_can_match(store: ObjectStore) -> None:
    """Prefixes by time: of the other days nothing is listed."""
    for day in range(1, 6):
        store.put(f"otlp/day=0{day}/hour=00/a.json", b"x")
    store.requests.clear()
    assert keys(find([f"s3://{BUCKET}/otlp/day=03/*/*.json"])) == ["otlp/day=03/hour=00/a.json"]
    assert len(store.requests) == 2


def put_everything(store: ObjectStore, folder: Path) -> list[Path]:
    """Objects in the encodings and compressions of the Collector's exporters, and the same as files."""
    contents = {
        f"{DAY}/hour=00/a.json": json_lines([traces(span(1, 1, start=1, end=9))]),
        f"{DAY}/hour=00/b.json.gz": gzip.compress(json_lines([traces(span(1, 2, parentSpanId=f"{1:016x}"))])),
        f"{DAY}/hour=01/c.binpb": as_protobuf(2),
        f"{DAY}/hour=01/d.binpb.zst": zstandard.compress(as_protobuf(3)),
        f"{DAY}/hour=02/e.binpb.gz": gzip.compress(as_protobuf(1)),
        f"{DAY}/hour=02/f.json": b"\0 no telemetry",
    }
    for key, content in contents.items():
        store.put(key, content)
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(content)
    return [folder / key for key in contents]


def test_a_build_of_objects_is_one_of_files(store: ObjectStore, tmp_path: Path) -> None:
    files = put_everything(store, tmp_path)
    report = build(tmp_path / "objects", [f"s3a://{BUCKET}/otlp"], engine=ONE, part_count=2).report
    local = build(tmp_path / "files", files, engine=ONE, part_count=2).report
    assert [file.path for file in report.files] == [f"s3://{BUCKET}/{file.relative_to(tmp_path)}" for file in files]
    assert [(file.format, file.counts) for file in report.files] == [(file.format, file.counts) for file in local.files]
    with tracekit.open(tmp_path / "objects") as one, tracekit.open(tmp_path / "files") as other:
        assert set(unequal_tables(one.database, other.database)) == {"ingests"}


def test_workers_read_objects_from_a_named_endpoint(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_everything(store, tmp_path)
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    with LocalEngine(2) as engine:
        built = build(tmp_path / "w", [f"s3://{BUCKET}/{DAY}"], engine=engine, endpoint=store.endpoint)
    assert built.report.spans == 5


def put_warehouse(store: ObjectStore, folder: Path) -> str:
    """Put the files of a warehouse into the bucket, its manifest last."""
    files = sorted(
        (path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == "manifest.json"
    )
    for path in files:
        store.put(f"wh/{path.relative_to(folder)}", path.read_bytes())
    return f"s3://{BUCKET}/wh"


def test_a_warehouse_in_a_bucket_answers_as_the_one_in_a_folder(store: ObjectStore, tmp_path: Path) -> None:
    """A file is read once, other objects are out of reach, and a name that went through a path is understood."""
    build(tmp_path / "w", put_everything(store, tmp_path), engine=ONE, part_count=2)
    name = put_warehouse(store, tmp_path / "w")
    with tracekit.open(tmp_path / "w") as one, tracekit.open(Path(name)) as other:
        assert not unequal_tables(one.database, other.database)
        assert one.quality().as_dict() == other.quality().as_dict()
        store.requests.clear()
        assert other.sql("SELECT count(DISTINCT name) FROM spans").item() == 1
        assert store.requests == []
        with pytest.raises(QueryError):
            other.sql(f"FROM read_text('s3://{BUCKET}/{DAY}/hour=00/a.json')")
        with pytest.raises(StoreError, match="is a warehouse, which is only read here"):
            other.ingest(tmp_path)


def test_threads_read_an_object_at_places_of_their_own(store: ObjectStore) -> None:
    """DuckDB goes to a place and reads there, from many threads by one file."""
    store.put("letters", b"abcdefghij")
    file = ObjectFile(store.system, f"{BUCKET}/letters")
    file.seek(5)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: (file.seek(1), file.read(2))).result() == (1, b"bc")
    assert (file.read(3), file.tell()) == (b"fgh", 8)


def test_a_warehouse_is_not_built_in_a_bucket(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a warehouse is built in a folder, which can be copied"):
        build(f"s3://{BUCKET}/w", [tmp_path], engine=ONE)


def test_a_prefix_without_a_warehouse_is_told(store: ObjectStore) -> None:
    told = rf"s3://{BUCKET}/none/manifest\.json cannot be read: there is no such object"
    with pytest.raises(StoreError, match=told):
        tracekit.open(f"s3a://{BUCKET}/none/")


def test_an_ingest_reads_objects(store: ObjectStore) -> None:
    store.put("a.json.gz", gzip.compress(json_lines([traces(span(1, 1), span(1, 2))])))
    with tracekit.open(None) as local:
        assert local.ingest(f"s3://{BUCKET}/a.json.gz").spans == 2


def test_known_objects_are_not_read_again(store: ObjectStore, tmp_path: Path) -> None:
    """An object is read once, one that is put again with other content of the same size is another."""
    name = store.put("a.json", json_lines([traces(span(1, 1))]))
    build(tmp_path / "w", [name], engine=ONE)
    store.requests.clear()
    again = build(tmp_path / "w", [name], engine=ONE)
    assert (again.known_count, again.report.files) == (1, ())
    assert not [line for line in store.requests if line.startswith("GET") and "list-type" not in line]
    store.put("a.json", json_lines([traces(span(1, 2))]))
    assert build(tmp_path / "w", [name], engine=ONE).report.spans == 1


def test_a_large_object_is_read_by_few_requests(store: ObjectStore, tmp_path: Path) -> None:
    """Twenty MiB by ranges of what is decoded at once, not by the block."""
    blank = json_lines([traces(span(1, 1))]) + b" " * (20 << 20)
    store.put("a.json", blank)
    store.requests.clear()
    assert build(tmp_path / "w", [f"s3://{BUCKET}/a.json"], engine=ONE).report.spans == 1
    assert len([line for line in store.requests if line.startswith("GET /telemetry/a.json")]) <= 6


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("s3://telemetry/none.json", "no object has this name or prefix"),
        ("s3://telemetry/none/*.json", "no object matches this pattern"),
        ("s3://nobody/a.json", "cannot be read: there is no such bucket"),
        ("s3://*/a.json", "cannot be read: the name of a bucket is no pattern"),
        ("s3://", "cannot be read: the name has no bucket"),
    ],
)
def test_what_cannot_be_found_is_told(store: ObjectStore, asked: str, told: str) -> None:
    assert [source.error for source in find([asked])] == [told]


def test_a_store_that_cannot_be_reached_is_told(store: ObjectStore) -> None:
    (source,) = find([f"s3://{BUCKET}/a.json"], endpoint="http://127.0.0.1:9")
    assert source.error is not None
    assert "the object store http://127.0.0.1:9 cannot be reached; check AWS_ENDPOINT_URL" in source.error
