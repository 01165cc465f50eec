"""An object store with the API of S3 on this machine (moto), with credentials in the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from pyarrow import fs

BUCKET = "telemetry"


@dataclass(frozen=True)
class ObjectStore:
    """A running store: what it is asked is counted."""

    endpoint: str
    system: fs.S3FileSystem
    requests: list[str]

    def put(self, key: str, content: bytes) -> str:
        """Put an object into the bucket; its name."""
        with self.system.open_output_stream(f"{BUCKET}/{key}", compression=None) as stream:
            stream.write(content)
        return f"s3://{BUCKET}/{key}"


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run a store while the block runs, and let the environment name it."""
    from moto.server import ThreadedMotoServer
    from werkzeug.serving import WSGIRequestHandler

    requests: list[str] = []

    def count(self: Any, *_: object) -> None:
        requests.append(self.requestline)

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with mock.patch.object(WSGIRequestHandler, "log_request", count):
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        named = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        try:
            with mock.patch.dict(os.environ, named | {"AWS_ENDPOINT_URL": endpoint}):
                system = fs.S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True)
                system.create_dir(BUCKET)
                yield ObjectStore(endpoint, system, requests)
        finally:
            server.stop()
