"""A real receiver on ports of its own, and the plainest clients that can talk to it."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from tracekit.receiver import Receiver, ReceiverSettings

PROTOBUF = "application/x-protobuf"
JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def request(
    receiver: Receiver,
    path: str,
    body: bytes,
    *,
    content_type: str | None = PROTOBUF,
    method: str = "POST",
    **headers: str,
) -> Answer:
    """Send one HTTP request; `_` in header names stands for `-`."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type is not None:
        given["Content-Type"] = content_type
    with closing(http.client.HTTPConnection("127.0.0.1", receiver.ports.http_port, timeout=30)) as connection:
        connection.request(method, path, body, given)
        response = connection.getresponse()
        return Answer(response.status, {key.lower(): value for key, value in response.getheaders()}, response.read())


def grpc_call(
    receiver: Receiver,
    service: str,
    payload: bytes,
    *,
    metadata: tuple[tuple[str, str], ...] = (),
    compression: grpc.Compression | None = None,
) -> bytes:
    """Call Export of a service with raw bytes. Raises `grpc.RpcError`."""
    with grpc.insecure_channel(f"127.0.0.1:{receiver.ports.grpc_port}") as channel:
        call = channel.unary_unary(f"/{service}/Export")
        return call(payload, metadata=metadata, compression=compression, timeout=30)


StartReceiver = Callable[..., Receiver]


@pytest.fixture
def start_receiver(tmp_path: Path) -> Iterator[StartReceiver]:
    """Starts receivers with settings of the test's choice; all are closed after it."""
    with ExitStack() as running:

        def start(**settings: object) -> Receiver:
            path = tmp_path / f"store-{len(running._exit_callbacks)}.duckdb"
            chosen = ReceiverSettings(http_port=0, grpc_port=0, **settings)
            return running.enter_context(Receiver(path, chosen))

        yield start


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A receiver with its defaults, shared by the tests of a file."""
    path = tmp_path_factory.mktemp("receiver") / "store.duckdb"
    with Receiver(path, ReceiverSettings(http_port=0, grpc_port=0)) as running:
        yield running
