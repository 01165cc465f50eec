"""The Node SDK's three exporters: gRPC, HTTP with protobuf, HTTP with JSON."""

from __future__ import annotations

import json
import subprocess
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tracekit.receiver import Receiver

SPANS = """
    SELECT trace_id, span_id, parent_span_id, name, start_ns, end_ns, kind, status_code,
        span_attributes::JSON::VARCHAR AS attributes
    FROM spans
    WHERE service_name = 'node-sender'
    ORDER BY span_id
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("transport", ["grpc", "proto", "http"])
def test_what_node_sends_is_stored(receiver: Receiver, node_modules: Path, transport: str) -> None:
    """Ids, times to the nanosecond, kinds, status and typed attributes arrive as the SDK recorded them."""
    http_url = f"http://127.0.0.1:{receiver.ports.http_port}/v1/traces"
    url = f"http://127.0.0.1:{receiver.ports.grpc_port}" if transport == "grpc" else http_url
    ended = subprocess.run(
        ["node", "send.mjs", transport, url], cwd=node_modules, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    sent = [json.loads(line) for line in ended.stdout.splitlines()]
    for span in sent:
        span |= {name: int(span[name]) for name in ("start_ns", "end_ns")}
    assert len(sent) == 5
    assert stored(receiver) == sorted(sent, key=itemgetter("span_id"))


def stored(receiver: Receiver) -> list[dict[str, Any]]:
    rows = receiver.store.database.sql(SPANS).to_dicts()
    return [row | {"attributes": json.loads(row["attributes"])} for row in rows]
