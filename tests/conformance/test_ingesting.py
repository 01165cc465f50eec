"""`tracekit ingest` while a server holds the store: the same counts, the same store."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import tracekit as tk
from tests.conformance import exports
from tests.conformance.process import ServeProcess
from tracekit.api import Store
from tracekit.api.served import ServedStore
from tracekit.receiver import Receiver, ReceiverSettings
from tracekit.remote import Endpoint, RemoteStore, announced, endpoint_of
from tracekit.remote.client import FILE_MEDIA_TYPE
from tracekit.serving.governor import AskingLimits, Governor
from tracekit.serving.serve import _routes
from tracekit.serving.uploads import UPLOAD_PATH

SPANS = "SELECT * EXCLUDE (ingest_id) REPLACE (span_attributes::VARCHAR AS span_attributes) FROM spans ORDER BY span_id"
FILES = {
    "good.pb": exports.traces(2000),
    "with bad ones.pb": exports.traces(30, bad=4),
    "metrics.pb": exports.metrics(20, bad=1),
    "packed.pb.gz": gzip.compress(exports.logs(50)),
    "cut.pb.gz": gzip.compress(exports.traces(3000))[:-2000],
    "empty.pb": b"",
    "notes.txt": b"not telemetry at all\n" * 50,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files good and bad, one of them twice."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "again.pb").write_bytes(FILES["good.pb"])
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """The path of a store that a server holds, which others find by its endpoint file."""
    path = tmp_path / "served.duckdb"
    governor = Governor(lambda: receiver.store.database, AskingLimits())
    settings = ReceiverSettings(http_port=0, grpc_port=0, token="secret")
    receiver = Receiver(path, settings, extra_routes=partial(_routes, governor), extra_body_bytes={UPLOAD_PATH: None})
    with receiver, announced(path, Endpoint(f"http://127.0.0.1:{receiver.ports.http_port}", os.getpid(), "secret")):
        yield path


def endpoint_at(path: Path) -> Endpoint:
    found = endpoint_of(path)
    assert found is not None
    return found


def served_store(path: Path) -> Store:
    """The store as other processes have it."""
    return ServedStore(RemoteStore(endpoint_at(path)))


def test_files_go_through_the_server_with_the_same_report_and_the_same_store(
    folder: Path, served: Path, tmp_path: Path
) -> None:
    """Counts, formats, reasons, offsets and errors of every file are those of an ingest without a server."""
    with tk.open(tmp_path / "direct.duckdb") as direct, served_store(served) as remote:
        expected = direct.ingest(folder, folder / "good.pb", folder / "not there.pb")
        found = remote.ingest(folder, folder / "good.pb", folder / "not there.pb")
        assert found.as_dict() == expected.as_dict()
        assert (found.spans, found.duplicates, found.rejected) == (expected.spans, 4000, 7)
        assert_frame_equal(remote.sql(SPANS), direct.sql(SPANS))
        count = "SELECT count(*) AS units, sum(span_count) AS spans FROM units"
        assert_frame_equal(remote.sql(count), direct.sql(count))


def test_the_command_goes_through_the_server_by_itself(folder: Path, tmp_path: Path) -> None:
    """The exit code, the JSON and what can be asked right afterwards are as without a server."""
    database = tmp_path / "store.duckdb"
    server = ServeProcess(database, "--no-ui")
    command = [sys.executable, "-m", "tracekit", "ingest", str(folder / "good.pb"), "--json", "--db", str(database)]
    first, second = (subprocess.run(command, capture_output=True, text=True, timeout=120) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert str(server.process.pid) in first.stderr
    assert [json.loads(ended.stdout)["spans"] for ended in (first, second)] == [2000, 0]
    assert json.loads(second.stdout)["duplicates"] == 2000
    assert server.stop() == 0
    with tk.open(database) as store:
        assert store.sql("SELECT count(*) AS count FROM units")["count"][0] == 2000


def test_a_file_that_breaks_off_is_not_taken_for_a_whole_one(folder: Path, served: Path) -> None:
    """Nothing of a small file whose sender vanished is stored as if it had ended there; the next file is read."""
    address = endpoint_at(served).url.removeprefix("http://").split(":")
    content = exports.traces(2000)
    head = (
        "POST /api/ingest?name=half.pb HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n"
        f"Content-Type: {FILE_MEDIA_TYPE}\r\nContent-Length: {2 * len(content)}\r\n\r\n"
    )
    with socket.create_connection((address[0], int(address[1]))) as connection:
        connection.sendall(head.encode() + content)
        time.sleep(0.5)
    with served_store(served) as remote:
        assert remote.ingest(folder / "metrics.pb").metric_points == 20
        assert remote.sql("SELECT count(*) AS count FROM spans")["count"][0] == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Content-Type": "text/plain"}, 400),
        ({}, 200),
    ],
)
def test_only_who_may_write_can_upload(served: Path, headers: dict[str, str], status: int) -> None:
    """The token is asked for as everywhere; a page of a foreign site cannot send this type."""
    address = endpoint_at(served).url.removeprefix("http://")
    given = {"Authorization": "Bearer secret", "Content-Type": FILE_MEDIA_TYPE} | headers
    with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
        connection.request("POST", "/api/ingest?name=x.pb", exports.traces(3), given)
        assert connection.getresponse().status == status
