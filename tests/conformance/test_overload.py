"""Too much at once, and a store that cannot be written: refused so that senders come again, never dropped."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.rpc import error_details_pb2

from tests.conformance import exports
from tests.conformance.conftest import StartReceiver, grpc_call, request
from tests.conformance.test_grpc import details_of, refusal
from tests.conformance.test_http import status_of, stored_count
from tracekit.receiver import Receiver
from tracekit.receiver.grpc_export import SERVICES

SDK_BUDGET_S = 10


def wait_until_waiting(receiver: Receiver, size_bytes: int) -> None:
    deadline = time.monotonic() + 20
    while receiver.intake.budget.used_bytes < size_bytes:
        assert time.monotonic() < deadline, "the requests did not arrive"
        time.sleep(0.01)


def test_beyond_the_waiting_bytes_senders_are_told_to_come_again(start_receiver: StartReceiver) -> None:
    """429 with Retry-After and UNAVAILABLE with RetryInfo, well under an SDK's ten seconds; what waited is
    stored."""
    receiver = start_receiver(max_waiting_bytes=1 << 20)
    payload = exports.traces(10, value="x" * 60_000)
    with ThreadPoolExecutor(1) as senders:
        with receiver.store.database.writing:
            waiting = senders.submit(request, receiver, "/v1/traces", payload)
            wait_until_waiting(receiver, len(payload))
            over_http = request(receiver, "/v1/traces", payload)
            over_grpc = refusal(receiver, SERVICES["traces"], payload)
        assert waiting.result().status == 200
    assert over_http.status == 429
    assert 0 < int(over_http.headers["retry-after"]) < SDK_BUDGET_S / 2
    assert status_of(over_http).code == grpc.StatusCode.UNAVAILABLE.value[0]
    info = error_details_pb2.RetryInfo()
    assert over_grpc.code() is grpc.StatusCode.UNAVAILABLE
    assert details_of(over_grpc).details[0].Unpack(info)
    assert 0 < info.retry_delay.seconds < SDK_BUDGET_S / 2
    assert (
        error_details_pb2.RetryInfo.FromString(dict(over_grpc.trailing_metadata())["google.rpc.retryinfo-bin"]) == info
    )
    assert stored_count(receiver, "traces") == 10
    assert request(receiver, "/v1/traces", payload).status == 200, "the bytes were given back"
    assert receiver.intake.budget.used_bytes == 0


def test_every_way_out_of_a_request_gives_its_bytes_back(start_receiver: StartReceiver) -> None:
    """A leak would close the door for ever."""
    receiver = start_receiver(max_request_bytes=1 << 20)
    for body, headers in [
        (exports.traces(), {}),
        (b"\xff", {}),
        (b"not gzip", {"Content_Encoding": "gzip"}),
        (bytes(2 << 20), {}),
        (exports.traces(), {"Content_Encoding": "br"}),
    ]:
        request(receiver, "/v1/traces", body, **headers)
    assert receiver.intake.budget.used_bytes == 0


def test_one_commit_answers_all_that_waited(start_receiver: StartReceiver) -> None:
    """Group commit: what gathers while one group is written and the next is read goes into a third together."""
    receiver = start_receiver()
    request(receiver, "/v1/traces", exports.traces())
    before = receiver.counters.commit_times().count
    with ThreadPoolExecutor(20) as senders:
        with receiver.store.database.writing:
            payloads = [exports.traces(5) for _ in range(20)]
            answers = [senders.submit(request, receiver, "/v1/traces", payload) for payload in payloads]
            wait_until_waiting(receiver, sum(map(len, payloads)))
        assert {answer.result().status for answer in answers} == {200}
    assert receiver.counters.commit_times().count - before <= 3
    assert stored_count(receiver, "traces") == 101


def test_a_bad_request_in_a_group_harms_no_other(start_receiver: StartReceiver) -> None:
    """Each request of a group gets its own answer."""
    receiver = start_receiver()
    payloads = [exports.traces(2), b"\xff\xff", exports.logs(1), exports.traces(2, bad=1), exports.traces(2)]
    with ThreadPoolExecutor(8) as senders:
        with receiver.store.database.writing:
            answers = [senders.submit(request, receiver, "/v1/traces", payload) for payload in payloads]
            wait_until_waiting(receiver, sum(map(len, payloads)))
        found = [(answer.result().status, bool(answer.result().body)) for answer in answers]
    assert found == [(200, False), (400, True), (400, True), (200, True), (200, False)]
    assert stored_count(receiver, "traces") == 6


def test_while_the_store_cannot_be_written_everything_is_retryable(start_receiver: StartReceiver) -> None:
    """503 and UNAVAILABLE, readiness says why, and when the store is back nothing needs a restart."""
    receiver = start_receiver()
    good = receiver.store._open_database
    receiver.store._open_database = lambda: _still_broken()
    receiver.store.fail("the disk is full")
    answer = request(receiver, "/v1/traces", exports.traces())
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) < SDK_BUDGET_S / 2
    assert "the disk is full" in status_of(answer).message or "still broken" in status_of(answer).message
    assert refusal(receiver, SERVICES["traces"], exports.traces()).code() is grpc.StatusCode.UNAVAILABLE
    readiness = request(receiver, "/readyz", b"", method="GET")
    assert readiness.status == 503
    assert request(receiver, "/healthz", b"", method="GET").status == 200
    receiver.store._open_database = good
    deadline = time.monotonic() + 15
    while request(receiver, "/readyz", b"", method="GET").status != 200:
        assert time.monotonic() < deadline, "the store did not come back"
        time.sleep(0.1)
    assert request(receiver, "/v1/traces", exports.traces()).status == 200


def _still_broken() -> None:
    from tracekit.errors import StoreFullError

    raise StoreFullError("still broken")


def test_closing_answers_what_is_in_flight(start_receiver: StartReceiver) -> None:
    """A sender that was heard is answered, and its data is in the file."""
    receiver = start_receiver()
    with ThreadPoolExecutor(4) as senders:
        with receiver.store.database.writing:
            payloads = [exports.traces(3) for _ in range(3)]
            answers = [senders.submit(request, receiver, "/v1/traces", payload) for payload in payloads]
            wait_until_waiting(receiver, sum(map(len, payloads)))
            closing = senders.submit(receiver.close)
            time.sleep(0.3)
        closing.result()
        assert [answer.result().status for answer in answers] == [200] * 3
    with pytest.raises(OSError, match="refused"):
        request(receiver, "/v1/traces", exports.traces())
    with receiver.store._open_database() as database:
        assert database.sql("SELECT count(*) AS count FROM spans")["count"][0] == 9


def test_grpc_is_answered_while_http_is_flooded(start_receiver: StartReceiver) -> None:
    """Both transports share one budget, and neither starves."""
    receiver = start_receiver()
    with ThreadPoolExecutor(20) as senders:
        flood = [senders.submit(request, receiver, "/v1/traces", exports.traces(100)) for _ in range(60)]
        assert grpc_call(receiver, SERVICES["traces"], exports.traces()) == b""
        assert {each.result().status for each in flood} == {200}
