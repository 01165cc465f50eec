"""Many small files are written at once; rows, counts and faults are those of one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.otlp.documents import logs, read, span, traces
from tracekit.ingest import decoding, find, ingest
from tracekit.store import Database, SmallSource, merge_sources, sort_by_service, write_sources

_TABLES = ("spans", "span_events", "span_links", "logs", "ingest_rejects", "resources", "scopes", "span_attribute_keys")


def one_after_the_other(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], dict[str, list[tuple[Any, ...]]]]:
    with Database.open(None) as database:
        reports = [ingest(database, [path]).as_dict()["files"][0] for path in paths]
        return reports, contents(database)


def at_once(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], dict[str, list[tuple[Any, ...]]]]:
    with Database.open(None) as database:
        reports = ingest(database, paths).as_dict()["files"]
        return reports, contents(database)


def contents(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables, those of `ingests` without the time; numbers of senders are the same by order."""
    statements = {name: f"SELECT COLUMNS(*)::VARCHAR FROM {name} ORDER BY ALL" for name in _TABLES}
    statements["ingests"] = "SELECT * EXCLUDE (received_ns) FROM ingests ORDER BY ingest_id"
    return {name: database.cursor().execute(statement).fetchall() for name, statement in statements.items()}


def files(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / f"capture-{number:03}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def numbered_span(number: int, **fields: Any) -> dict[str, Any]:
    return span(spanId=f"{number + 1:016x}", name=f"span {number}", **fields)


ODD = {
    "known in an earlier file": traces(numbered_span(1)),
    "in conflict with an earlier file": traces(numbered_span(1, kind=3)),
    "twice in itself": traces(numbered_span(7), numbered_span(7)),
    "without its id": traces(span(spanId="")),
    "of logs": logs(),
    "empty": b"",
    "of no format": b"hello",
    "cut off": traces(numbered_span(8), numbered_span(9))[:-30],
    "with a line that is no JSON": traces(numbered_span(10)) + b"\n{no json}\n" + traces(numbered_span(11)),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_file_among_others_costs_and_counts_what_it_does_alone(tmp_path: Path, odd: bytes) -> None:
    """Reports in the order of the files, rows, numbers of ingests and rejects with their places are the same."""
    paths = files(
        tmp_path, *(traces(numbered_span(n)) for n in range(4)), odd, *(traces(numbered_span(n)) for n in (4, 5))
    )
    assert at_once(paths) == one_after_the_other(paths)


@pytest.mark.parametrize("seed", range(4))
def test_any_files_in_any_order_are_the_same_at_once(tmp_path: Path, seed: int) -> None:
    """Every odd file beside the others."""
    chance = random.Random(seed)
    made = [*(traces(*(numbered_span(n + k) for k in range(3))) for n in range(20, 60, 2)), *ODD.values()]
    chance.shuffle(made)
    paths = files(tmp_path, *made)
    assert at_once(paths) == one_after_the_other(paths)


def test_a_record_that_the_schema_refuses_costs_itself_only() -> None:
    """The sources are stored one by one then, the rest of its own source with it."""
    batches = [read(traces(numbered_span(2 * n), numbered_span(2 * n + 1))) for n in range(3)]
    names = pa.array(["span 2", None], pa.string())
    place = batches[1].spans.schema.get_field_index("name")
    batches[1] = replace(batches[1], spans=batches[1].spans.set_column(place, "name", names))
    sources = [
        SmallSource(f"file {n}", "some format", (sort_by_service(batch),), ()) for n, batch in enumerate(batches)
    ]
    with Database.open(None) as database:
        found = write_sources(database, sources, merge_sources(sources))
        rows = database.sql("SELECT ingest_id, name FROM spans ORDER BY ALL").rows()
    assert [(counts.spans, counts.rejected) for counts in found] == [(2, 0), (1, 1), (2, 0)]
    assert [reject.reason for reject in found[1].rejects] == ["refused_by_store"]
    assert rows == [(1, "span 0"), (1, "span 1"), (2, "span 2"), (3, "span 4"), (3, "span 5")]


def test_few_transactions_are_made_of_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each group, which ends where it is large enough; each row knows its file."""
    monkeypatch.setattr(decoding, "BATCH_ROWS", 25)
    paths = files(tmp_path, *(traces(*(numbered_span(10 * n + k) for k in range(10))) for n in range(10)))
    groups = [item for item in decoding.decoded(find(paths)) if isinstance(item, decoding.Together)]
    assert [len(group.contents) for group in groups] == [3, 3, 3]
    with Database.open(None) as database:
        ingest(database, paths)
        rows = database.sql(
            "SELECT ingest_id, count(*) AS spans, min(name) AS first FROM spans GROUP BY ALL ORDER BY 1"
        ).rows()
    assert rows == [(n + 1, 10, f"span {10 * n}") for n in range(10)]
