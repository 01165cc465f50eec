"""One request that the store refuses costs only that request."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.conformance import exports
from tests.conformance.conftest import StartReceiver, request
from tests.conformance.test_http import stored_count
from tracekit.receiver import Receiver
from tracekit.receiver.faults import Fault, fault_of
from tracekit.store import connection

POISON_NAME = "poison"


def poison(spans: int = 2) -> bytes:
    message = ExportTraceServiceRequest.FromString(exports.traces(spans))
    message.resource_spans[0].scope_spans[0].scope.name = POISON_NAME
    return message.SerializeToString()


@pytest.fixture
def receiver(start_receiver: StartReceiver) -> Receiver:
    """A receiver whose store has one more rule than ours: it refuses a scope of that name."""
    running = start_receiver()
    assert request(running, "/v1/traces", poison(1)).status == 200
    database = running.store.database
    with database.writing, closing(database.cursor()) as cursor:
        cursor.execute("CREATE UNIQUE INDEX one_name ON base.scopes (name)")
    return running


def another_poison() -> bytes:
    message = ExportTraceServiceRequest.FromString(poison())
    message.resource_spans[0].scope_spans[0].scope.version = exports.traces(1)[:8].hex()
    return message.SerializeToString()


def test_good_requests_beside_a_bad_one_are_stored(receiver: Receiver) -> None:
    """57 of 57, while each of 3 is told how many of its spans were refused, and nobody is asked to send again."""
    before = stored_count(receiver, "traces")
    payloads = [another_poison() if number % 20 == 0 else exports.traces(3) for number in range(60)]
    with ThreadPoolExecutor(60) as senders:
        with receiver.store.database.writing:
            answers = senders.map(lambda payload: request(receiver, "/v1/traces", payload), payloads)
            # They gather, and are written together once the lock is free.
            time.sleep(2)
        found = list(answers)
    assert [answer.status for answer in found] == [200] * 60
    refused = [ExportTraceServiceResponse.FromString(answer.body).partial_success.rejected_spans for answer in found]
    assert refused == [2 if number % 20 == 0 else 0 for number in range(60)]
    assert stored_count(receiver, "traces") == before + 57 * 3
    rejects = receiver.store.database.sql("SELECT sum(record_count) AS count FROM ingest_rejects")
    assert rejects["count"][0] == 3 * 2
    assert receiver.store.fault is None


def test_faults_are_told_apart() -> None:
    """By what DuckDB raises, under the error of the store."""
    import duckdb

    def fault(error: Exception) -> Fault:
        try:
            with connection.store_errors(None):
                raise error
        except Exception as raised:
            return fault_of(raised)

    assert fault(duckdb.ConstraintException("NOT NULL constraint failed")) is Fault.DATA
    assert fault(duckdb.ConversionException("Could not convert")) is Fault.DATA
    assert fault(duckdb.InternalException("INTERNAL Error")) is Fault.DATA
    assert fault(KeyError("a defect of ours")) is Fault.DATA
    assert fault(duckdb.OutOfMemoryException("failed to allocate")) is Fault.MEMORY
    assert fault(MemoryError()) is Fault.MEMORY
    used_up = "failed to pin block of size 256.0 KiB (672.2 MiB/672.0 MiB used)"
    assert fault(duckdb.TransactionException(f"Failed to commit: {used_up}")) is Fault.MEMORY
    assert fault(duckdb.FatalException(f"Failed to roll back: {used_up}")) is Fault.MEMORY
    assert fault(duckdb.OutOfMemoryException(f"could not allocate block of size {used_up}")) is Fault.MEMORY
    assert fault(duckdb.IOException("No space left on device")) is Fault.STORE
    assert fault(duckdb.IOException("Could not write")) is Fault.STORE
