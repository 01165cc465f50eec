"""A server that keeps only so much, for only so long."""

from __future__ import annotations

import time

from tests.conformance import exports
from tests.conformance.conftest import StartReceiver, request
from tests.conformance.test_http import stored_count

DAY_S = 86_400


def test_what_is_too_old_goes_while_the_server_runs(start_receiver: StartReceiver) -> None:
    """Old traces go within a moment of their arrival, young ones stay."""
    receiver = start_receiver(max_age_s=DAY_S)
    young = exports.traces(3, start_ns=time.time_ns())
    assert request(receiver, "/v1/traces", exports.traces(5) + young).status == 200
    deadline = time.monotonic() + 60
    while stored_count(receiver, "traces") != 3:
        assert time.monotonic() < deadline, "old spans are still there"
        time.sleep(0.1)
    assert request(receiver, "/v1/traces", exports.traces(1, start_ns=time.time_ns())).status == 200
    assert stored_count(receiver, "traces") == 4
