"""Questions to a store that a server holds: from other processes, read-only, with the same answers."""

from __future__ import annotations

import json
import socket
import time as clock
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tracekit as tk
from tests.conformance import exports
from tests.conformance.conftest import JSON, Answer, request
from tracekit.api import Store
from tracekit.errors import StoreLockedError
from tracekit.receiver import Receiver, ReceiverSettings
from tracekit.remote import Endpoint, RemoteStore, announced, endpoint_of
from tracekit.remote.wire import rows_from
from tracekit.serving.answers import answer_routes
from tracekit.serving.governor import AskingLimits, Governor
from tracekit.stages import update_units

SECRET = "a token nobody guesses"


@contextmanager
def started(path: Path, limits: AskingLimits | None = None, **settings: object) -> Iterator[Receiver]:
    governor = Governor(lambda: receiver.store.database, limits)
    receiver = Receiver(
        path,
        ReceiverSettings(http_port=0, grpc_port=0, **settings),
        extra_routes=lambda receiver: answer_routes(governor, receiver.intake.access),
        end_questions=governor.stop_all,
    )
    with receiver:
        yield receiver
        governor.close()


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A server that holds 300 requests of one span each, and takes down nothing of its own between two questions."""
    with started(tmp_path_factory.mktemp("asked") / "store.duckdb", self_metrics_interval_s=3600.0) as running:
        assert request(running, "/v1/traces", exports.traces(300)).status == 200
        update_units(running.store.database)
        yield running


@pytest.fixture
def remote(receiver: Receiver) -> RemoteStore:
    """A client of that server."""
    return RemoteStore(Endpoint(f"http://127.0.0.1:{receiver.ports.http_port}", pid=1))


def ask(receiver: Receiver, path: str, body: object, **headers: str) -> Answer:
    return request(receiver, path, json.dumps(body).encode(), content_type=JSON, **headers)


def test_rows_are_the_same_through_the_server(receiver: Receiver, remote: RemoteStore) -> None:
    """Arrow carries every type there and back."""
    statement = "SELECT *, span_attributes AS again, 1.5::DOUBLE, 10::HUGEINT FROM spans ORDER BY span_id"
    assert_frame_equal(remote.sql(statement), receiver.store.database.sql(statement))
    assert remote.sql("SELECT $a + 1 AS b", a=2**53)["b"].to_list() == [2**53 + 1]


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 2, 3, 4, 5, 678901),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5))),
        date(2026, 1, 2), time(3, 4, 5, 6), timedelta(days=-1, microseconds=1), Decimal("12.340"),
        uuid.UUID(int=2**127 + 1), b"\x00\xff", [date(2026, 1, 2)], {"$date": "text"}, {"a": 1, "b": [b"c"]}, None,
        2**70, "text",
    ],
    ids=repr,
)  # fmt: skip
def test_a_parameter_of_any_type_is_bound_alike_through_the_server(
    receiver: Receiver, remote: RemoteStore, value: object
) -> None:
    """Times and what else JSON does not have included."""
    statement = "SELECT typeof($value) AS kind, $value::VARCHAR AS told"
    here = receiver.store.database.sql(statement, value=value)
    assert_frame_equal(remote.sql(statement, value=value), here)


@pytest.mark.parametrize("value", [{"$datetime": "yesterday"}, {"$datetime": 5}, {"$no": "1"}, {"$decimal": "x"}])
def test_a_parameter_that_cannot_be_read_is_refused(receiver: Receiver, value: object) -> None:
    """With its text and what is known."""
    answer = ask(receiver, "/api/sql", {"sql": "SELECT $a", "parameters": {"a": value}})
    assert (answer.status, "known marks: $datetime" in json.loads(answer.body)["message"]) == (400, True)


def test_who_leaves_the_server_waits_no_longer(remote: RemoteStore) -> None:
    """The question ends there, too (`test_governor`)."""
    endless = "SELECT sum(hash(a.range + b.range)) FROM range(10_000_000) AS a, range(10_000_000) AS b"
    with ThreadPoolExecutor(1) as askers:
        asked = askers.submit(remote.sql, endless)
        while not asked.done():
            remote.interrupt()
            wait([asked], timeout=0.05)
        with pytest.raises(StoreLockedError, match="does not answer"):
            asked.result()


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("tail", ("e2e",), {"quantile": 0.9}),
        ("changed_metrics", (["e2e"],), {}),
        ("quality", (), {}),
        ("stragglers", (), {}),
        ("report", (), {}),
    ],
)
def test_answers_are_the_same_through_the_server(
    receiver: Receiver, remote: RemoteStore, name: str, arguments: tuple[str, ...], options: dict[str, object]
) -> None:
    """The answer's class, its numbers and its frames survive the way."""
    here = getattr(Store(receiver.store.database), name)(*arguments, **options)
    there = remote.answer(name, *arguments, **options)
    assert type(there) is type(here)
    if hasattr(here, "as_dict"):
        assert json.dumps(there.as_dict()) == json.dumps(here.as_dict())
    elif isinstance(here, pl.DataFrame):
        assert_frame_equal(there, here)
    else:
        assert_frame_equal(there.rows, here.rows)
        assert there.text == here.text


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM base.spans",
        "WITH gone AS (DELETE FROM base.spans RETURNING *) SELECT count(*) FROM gone",
        "SELECT 1; DROP TABLE base.spans",
        "COPY base.spans TO '/tmp/stolen.csv'",
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/passwd')",
        "FROM '/etc/passwd'",
        "ATTACH '/tmp/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1TB'",
        "PRAGMA enable_profiling",
        "FROM read_parquet('http://127.0.0.1:9/x')",
        "CREATE TABLE mine AS SELECT 1",
        "EXPORT DATABASE '/tmp/stolen'",
        "CHECKPOINT",
    ],
)
def test_sql_can_only_look(receiver: Receiver, remote: RemoteStore, statement: str) -> None:
    """SELECT only: no writing, no files, no network, no settings, no extensions."""
    with pytest.raises(tk.QueryError):
        remote.sql(statement)
    assert remote.sql("SELECT count(*) AS count FROM spans")["count"][0] == 300


def test_rows_and_time_are_limited(receiver: Receiver) -> None:
    """Beyond the row limit the answer says so; a statement that runs too long is stopped."""
    limited = ask(receiver, "/api/sql", {"sql": "FROM range(100)", "row_limit": 7})
    assert rows_from(limited.body).height == 7
    assert limited.headers["tracekit-truncated"] == "true"
    endless = {"sql": "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0"}
    started_at = clock.monotonic()
    stopped = ask(receiver, "/api/sql", endless | {"time_limit_s": 0.3})
    assert (stopped.status, json.loads(stopped.body)["error"]) == (400, "QueryError")
    assert clock.monotonic() - started_at < 10


def test_a_statement_stops_when_nobody_waits_for_it(receiver: Receiver) -> None:
    """A closed browser or Ctrl-C at the client ends the work at the server."""
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0"
    body = json.dumps({"sql": endless, "time_limit_s": 300}).encode()
    lines = [
        "POST /api/sql HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {JSON}",
        f"Content-Length: {len(body)}",
    ]
    head = "\r\n".join([*lines, "", ""])
    with socket.create_connection(("127.0.0.1", receiver.ports.http_port)) as connection:
        connection.sendall(head.encode() + body)
        clock.sleep(0.5)
    clock.sleep(1.5)
    idle_from = clock.process_time()
    clock.sleep(1)
    assert clock.process_time() - idle_from < 0.5, "the statement still runs"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/sql", []),
        ("/api/sql", {}),
        ("/api/sql", {"sql": 7}),
        ("/api/sql", {"sql": "SELECT 1", "row_limit": -1}),
        ("/api/sql", {"sql": "SELECT $x"}),
        ("/api/answers/tail", {}),
        ("/api/answers/tail", {"arguments": ["no such metric"]}),
        (
            "/api/answers/tail",
            {"arguments": ["e2e"], "options": {"where": "1=1); DELETE FROM base.spans; --"}},
        ),
        ("/api/answers/tail", {"arguments": ["e2e"], "options": {"nonsense": 1}}),
        ("/api/answers/query", {"arguments": ["../../etc/passwd"]}),
        ("/api/answers/query", {"arguments": ["store/add_ingest"], "options": {}}),
    ],
)
def test_wrong_questions_are_told_as_errors(receiver: Receiver, path: str, body: object) -> None:
    """The class and the message of the error, never a stack trace."""
    answer = ask(receiver, path, body)
    told = json.loads(answer.body)
    assert answer.status == 400
    assert issubclass(getattr(tk, told["error"]), tk.TracekitError)
    assert "Traceback" not in told["message"]


def test_pages_of_foreign_sites_cannot_ask(receiver: Receiver) -> None:
    """A browser on this machine must not be made to read the store: no simple requests, no foreign names."""
    body = json.dumps({"sql": "SELECT 1"}).encode()
    assert request(receiver, "/api/sql", body, content_type="text/plain").status == 400
    assert ask(receiver, "/api/sql", {"sql": "SELECT 1"}, Host="evil.example:4318").status == 403
    assert ask(receiver, "/api/sql", {"sql": "SELECT 1"}, Host="localhost:4318").status == 200


def test_with_a_token_everything_but_health_wants_it(tmp_path: Path) -> None:
    """OTLP, SQL and counters alike, over both transports."""
    import grpc

    from tests.conformance.conftest import grpc_call
    from tracekit.receiver.grpc_export import SERVICES

    with started(tmp_path / "store.duckdb", token=SECRET) as receiver:
        for authorization in ("", "Bearer wrong", f"Basic {SECRET}", SECRET):
            header = {"Authorization": authorization}
            assert request(receiver, "/v1/traces", exports.traces(), **header).status == 401
            assert ask(receiver, "/api/sql", {"sql": "SELECT 1"}, **header).status == 401
            assert request(receiver, "/metrics", b"", method="GET", **header).status == 401
        assert request(receiver, "/healthz", b"", method="GET").status == 200
        right = {"Authorization": f"Bearer {SECRET}"}
        assert request(receiver, "/v1/traces", exports.traces(), **right).status == 200
        assert ask(receiver, "/api/sql", {"sql": "SELECT 1"}, **right).status == 200
        with pytest.raises(grpc.RpcError) as refused:
            grpc_call(receiver, SERVICES["traces"], exports.traces())
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        metadata = (("authorization", f"Bearer {SECRET}"),)
        assert grpc_call(receiver, SERVICES["traces"], exports.traces(), metadata=metadata) == b""


def test_the_endpoint_file_is_the_owners_and_goes_with_the_server(tmp_path: Path) -> None:
    """It holds the token; one that a killed server left behind is not believed."""
    path = tmp_path / "store.duckdb"
    alive = Endpoint("http://127.0.0.1:1", pid=1, token=SECRET)
    with announced(path, alive):
        file = tmp_path / "store.duckdb.server"
        assert file.stat().st_mode & 0o077 == 0
        assert endpoint_of(path) == alive
    assert endpoint_of(path) is None
    file.write_text('{"url": "http://127.0.0.1:1", "pid": 999999999, "token": null}')
    assert endpoint_of(path) is None
    file.write_text("nonsense")
    assert endpoint_of(path) is None
