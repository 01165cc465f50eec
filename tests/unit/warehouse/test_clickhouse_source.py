"""A table of ClickHouse as source: what is asked by HTTP, what is read of it, and what it says when it cannot."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

import tracekit
from tracekit.ingest import find
from tracekit.warehouse import LocalEngine, build

ROOT = Path(__file__).resolve().parents[3]
ONE = LocalEngine(1)
ROW = (
    '{"Timestamp":"2026-12-01T10:00:00.000000001Z","TraceId":"%032x","SpanId":"%016x","ParentSpanId":"","TraceState":"",'
    '"SpanName":"chat","SpanKind":"Server","ServiceName":"gateway","ResourceAttributes":{},"ScopeName":"",'
    '"ScopeVersion":"","SpanAttributes":{"n":"1"},"Duration":"5","StatusCode":"Ok","StatusMessage":"",'
    '"Events.Timestamp":[],"Events.Name":[],"Events.Attributes":[],"Links.TraceId":[],"Links.SpanId":[],'
    '"Links.TraceState":[],"Links.Attributes":[]}\n'
)
# The columns of the exporter's table, without its codecs and indices.
TABLE = (
    "CREATE TABLE otel.otel_traces (Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, "
    "TraceState String, SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName "
    "LowCardinality(String), ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion "
    "String, SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode String, StatusMessage "
    "String, Events Nested (Timestamp DateTime64(9), Name String, Attributes Map(LowCardinality(String), "
    "String)), Links Nested (TraceId String, SpanId String, TraceState String, Attributes Map(LowCardinality(String), "
    "String))) ENGINE = MergeTree ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))"
)
INSERT = (
    "INSERT INTO otel.otel_traces SELECT toDateTime64('{day} 23:59:59.123456789', 9, 'UTC') + number * 86400, "
    "lower(hex(toFixedString(toString(1000 + number), 16))), lower(hex('12345678')), '', '', 'chat', 'Server', 'gw', "
    "map('host.name', 'a'), 's', '1', map('gen_ai.usage.input_tokens', '42'), 18446744073, 'Error', 'late', "
    "[toDateTime64('{day} 23:59:59.5', 9, 'UTC')], ['first token'], [map()], [], [], [], [] FROM numbers({count})"
)


class Canned(BaseHTTPRequestHandler):
    """A server that answers what a test lays down for the beginning of a statement."""

    answers: dict[str, tuple[int, bytes, int]]
    headers_seen: list[str | None]

    def do_POST(self) -> None:
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.headers_seen.append(self.headers.get("X-ClickHouse-Key"))
        kind = next(kind for kind in self.answers if kind in statement)
        status, content, cut = self.answers[kind]
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) + cut))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def canned(rows: bytes, *, status: int = 200, cut: int = 0) -> Iterator[tuple[str, type[Canned]]]:
    """A server with one day of rows; gives the name of its table. `cut`: bytes that it promises and does not send."""
    answers = {
        "AS day": (200, b"2026-12-01\t2\n", 0),
        "cityHash64": (200, b"2\t7\n", 0),
        "SELECT *": (status, rows, cut),
    }
    handler = type("Handler", (Canned,), {"answers": answers, "headers_seen": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"clickhouse://127.0.0.1:{server.server_port}/otel/otel_traces", handler
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def rows(count: int) -> bytes:
    return "".join(ROW % (number, number) for number in range(1, count + 1)).encode()


def test_a_day_is_read_once_and_again_when_it_grew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password goes into a header, and neither into the warehouse nor into what is told."""
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", "secret")
    with canned(rows(2)) as (name, server):
        built = build(tmp_path / "w", [name], engine=ONE)
        assert [file.path for file in built.report.files] == [f"{name}/2026-12-01"]
        assert (built.report.spans, built.report.rejected) == (2, 0)
        assert build(tmp_path / "w", [name], engine=ONE).known_count == 1
        server.answers |= {"cityHash64": (200, b"3\t9\n", 0), "AS day": (200, b"2026-12-01\t3\n", 0)}
        server.answers["SELECT *"] = (200, rows(3), 0)
        report = build(tmp_path / "w", [name], engine=ONE).report
        assert (report.spans, report.duplicates) == (1, 2)
        assert set(server.headers_seen) == {"secret"}
    assert "secret" not in (tmp_path / "w/manifest.json").read_text()
    notes = {reject.example for file in report.files for reject in file.counts.rejects if reject.kind == "note"}
    assert notes == {"attributes are text in this table, whatever type they had when they were sent"}


@pytest.mark.parametrize(
    ("content", "status", "cut", "told"),
    [
        (rows(2) + b'{"exception": "Code: 241. memory"}\n', 200, 0, "ClickHouse broke its answer off: .*Code: 241"),
        (rows(2) + b"Code: 241. DB::Exception: memory\n", 200, 0, "ClickHouse broke its answer off: Code: 241"),
        (rows(2)[:-9], 200, 0, "ClickHouse broke its answer off"),
        (rows(2), 200, 99, "ClickHouse broke its answer off"),
        (b"Code: 60. DB::Exception: no table", 404, 0, "ClickHouse refuses with status 404: Code: 60"),
    ],
)
def test_an_answer_that_breaks_off_is_told(tmp_path: Path, content: bytes, status: int, cut: int, told: str) -> None:
    """What came before is kept and counted, as of a file that ends too early."""
    with canned(content, status=status, cut=cut) as (name, _), tracekit.open(None) as store:
        (file,) = store.ingest(name).files
    assert file.error is not None
    assert pytest.RaisesExc(AssertionError, match=told).matches(AssertionError(file.error))


@pytest.mark.parametrize(
    ("name", "shown", "told"),
    [
        ("clickhouse://u:pw@h/d/t", "clickhouse://h/d/t", "put the user and the password into CLICKHOUSE_USER"),
        ("clickhouse://h/d", "clickhouse://h/d", "a table of ClickHouse is named like"),
        ("clickhouse://h/d/t`; DROP", "clickhouse://h/d/t`; DROP", "a table of ClickHouse is named like"),
        ("clickhouse://127.0.0.1:9/d/t", "clickhouse://127.0.0.1:9/d/t", "ClickHouse cannot be reached: Connection"),
    ],
)
def test_what_cannot_be_asked_is_told(name: str, shown: str, told: str) -> None:
    (source,) = find([name])
    assert source.name == shown
    assert source.error is not None
    assert told in source.error
    assert "pw" not in f"{source}"


@pytest.fixture
def chdb(tmp_path: Path) -> Iterator[str]:
    """A table of three days in ClickHouse's own engine; its name."""
    if find_spec("chdb") is None:
        pytest.skip("ClickHouse's engine needs the package chdb")
    command = [sys.executable, "-m", "tests.unit.warehouse.clickhouse_server", str(tmp_path / "chdb")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(["CREATE DATABASE otel", TABLE, INSERT.format(day="2026-11-30", count=3)]) + "\n")
        process.stdin.close()
        try:
            yield f"clickhouse://127.0.0.1:{int(process.stdout.readline())}/otel/otel_traces"
        finally:
            process.kill()


def test_the_engine_of_clickhouse_gives_every_nanosecond(
    chdb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By chdb, which is ClickHouse without its server: times, durations, events, a month and a day by name."""
    assert [source.error for source in find([chdb])] != [None] * 3
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", "secret")
    assert [source.name[-10:] for source in find([f"{chdb}/2026-12"])] == ["2026-12-01", "2026-12-02"]
    built = build(tmp_path / "w", [f"{chdb}/2026-11-30", f"{chdb}/2026-12"], engine=ONE)
    assert (built.report.spans, built.report.rejected, len(built.report.files)) == (3, 0, 3)
    assert build(tmp_path / "w", [chdb], engine=ONE).known_count == 3
    with tracekit.open(tmp_path / "w") as store:
        asked = "SELECT start_ns, end_ns - start_ns AS took_ns, attributes::JSON::VARCHAR AS said FROM base.spans"
        found = store.sql(asked + " ORDER BY start_ns").rows()
        day_ns = 86_400 * 10**9
        first_ns = 1_796_083_199_123_456_789
        said = '{"gen_ai.usage.input_tokens":"42"}'
        assert found == [(first_ns + day * day_ns, 18_446_744_073, said) for day in range(3)]
        assert store.sql("SELECT min(time_ns) FROM span_events").item() == first_ns + 376_543_211
