"""What the schema of a store refuses costs itself only in a build, too, and is counted as an ingest counts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.store.test_refused_records import everything, with_value
from tests.unit.warehouse.equality import unequal_tables
from tracekit.ingest import Decoded, Ended, Source
from tracekit.records import Batch
from tracekit.stages import update_units
from tracekit.store import Database, IngestWriter
from tracekit.warehouse import LocalEngine, build, decoding, open_warehouse

CASES: list[tuple[str, str, Any]] = [
    ("resources", "attributes", "not JSON {"),
    ("metric_streams", "name", None),
    ("metric_streams", "attributes", "not JSON {"),
    ("spans", "attributes", "not JSON {"),
    ("spans", "trace_id", None),
    ("span_links", "linked_span_id", None),
    ("logs", "time_ns", None),
]


@pytest.mark.parametrize(("table", "column", "value"), CASES)
def test_a_refused_value_is_set_aside_as_an_ingest_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: str, column: str, value: Any
) -> None:
    batch = with_value(everything(), table, column, value)

    def decoded(source: Source) -> Iterator[Decoded[Batch] | Ended]:
        yield Decoded(source, batch, "test", (), 0)
        yield Ended(source)

    monkeypatch.setattr(decoding, "decoded_as_read", decoded)
    source = tmp_path / "source"
    source.write_bytes(b"whatever")
    (report,) = build(tmp_path / "w", [source], engine=LocalEngine(1), part_count=3).report.files
    with Database.open(None) as local, open_warehouse(tmp_path / "w") as built:
        writer = IngestWriter(local, source=str(source), format="test")
        writer.write(batch)
        counts = writer.finish()
        update_units(local)
        assert (report.counts.spans, report.counts.metric_points, report.counts.logs, report.counts.rejected) == (
            (counts.spans, counts.metric_points, counts.logs, counts.rejected)
        )
        different = unequal_tables(local, built)
        assert not {"spans", "units", "logs", "metric_points", "metric_histograms", "exemplars"} & set(different)
