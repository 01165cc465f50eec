"""Asking never stops receiving: bounded in number, time, memory, output and disk, here as over HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tracekit as tk
from tests.conformance import exports
from tests.conformance.conftest import JSON, Answer, request
from tests.conformance.hostile_questions import QUESTIONS, ask, fare, resident_bytes
from tests.conformance.process import ServeProcess
from tests.conformance.test_asking import started
from tracekit.receiver import Receiver
from tracekit.serving.governor import AskingLimits

# Receiving alone stays below 1.3 GiB; a vector of huge values an asker may come on top before it is seen.
MOST_BYTES = 4 << 30
QUICK = {"cross_join", "longer_values", "sort", "list", "growing_recursion"}
ENDLESS = QUESTIONS["cross_join"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    """A whole server without its app, started in a folder of its own."""
    running = ServeProcess(tmp_path_factory.mktemp("governed") / "store.duckdb", "--no-ui")
    yield running
    assert running.stop() == 0


@pytest.mark.parametrize(
    "question", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in QUESTIONS]
)
def test_senders_do_not_notice_what_is_asked(server: ServeProcess, question: str) -> None:
    """Four askers without end: nothing is refused; `tests.conformance.hostile_questions` measures how long it takes."""
    asked = fare(server, QUESTIONS[question], seconds=1.5)
    assert asked["sent"] > 0
    assert asked["refused"] == 0, asked["said"]
    assert asked["peak_mib"] << 20 < MOST_BYTES
    assert server.ask("/readyz")[0] == 200


def test_what_is_spilled_lies_beside_the_store_and_goes(server: ServeProcess, tmp_path: Path) -> None:
    """Never in the folder that the server happens to be started in."""
    before = {path.name for path in Path.cwd().iterdir()}
    ask(server, QUESTIONS["sort"], seconds=3)
    assert {path.name for path in Path.cwd().iterdir()} == before


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A server with two places, one of which has to be waited for."""
    limits = AskingLimits(running=2, waiting=2, wait_s=20, turn_s=1, output_bytes=1 << 20)
    with started(tmp_path_factory.mktemp("asked") / "store.duckdb", limits) as running:
        assert request(running, "/v1/traces", exports.traces(300)).status == 200
        yield running


def asked(receiver: Receiver, body: dict[str, object], path: str = "/api/sql") -> Answer:
    return request(receiver, path, json.dumps(body).encode(), content_type=JSON)


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "-1", "0", "1e999", "true", '"10"', "[]", "{}", "1e-999"]
)
@pytest.mark.parametrize("name", ["time_limit_s", "row_limit"])
def test_limits_are_positive_finite_numbers(receiver: Receiver, name: str, value: str) -> None:
    """Anything else is told to the asker, before anything runs."""
    body = f'{{"sql": "SELECT 1", "{name}": {value}}}'.encode()
    answer = request(receiver, "/api/sql", body, content_type=JSON)
    assert answer.status == 400
    assert name in json.loads(answer.body)["message"]


def test_too_many_questions_are_told_to_come_again(receiver: Receiver) -> None:
    """Two run, two wait, the rest gets 429 at once; who waits gets a turn soon, and who runs long gives way."""
    with ThreadPoolExecutor(12) as askers:
        running = [askers.submit(asked, receiver, {"sql": ENDLESS, "time_limit_s": 8}) for _ in range(12)]
        time.sleep(1)
        began = time.monotonic()
        answers = [each.result() for each in running]
    refused = [answer for answer in answers if answer.status == 429]
    assert len(refused) >= 8
    assert {json.loads(answer.body)["error"] for answer in refused} == {"BusyError"}
    assert time.monotonic() - began < 40


def test_an_answer_that_grows_too_long_is_ended(receiver: Receiver) -> None:
    """Told before its first byte, whatever the statement does at its end."""
    answer = asked(receiver, {"sql": "SELECT repeat('x', 1000) FROM range(100000)", "row_limit": 100_000})
    assert answer.status == 400
    assert "1048576 bytes" in json.loads(answer.body)["message"]
    late = asked(
        receiver, {"sql": "SELECT if(range = 20000, error('late'), range) FROM range(30000)", "row_limit": 30000}
    )
    assert (late.status, "late" in json.loads(late.body)["message"]) == (400, True)


def test_answers_have_a_deadline_and_end_with_their_asker(receiver: Receiver) -> None:
    """`tail` with a condition that never ends, too."""
    costly = "(SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0) = 0"
    began = time.monotonic()
    body = {"arguments": ["e2e"], "options": {"where": costly}, "time_limit_s": 1}
    answer = asked(receiver, body, "/api/answers/tail")
    assert answer.status == 400
    assert time.monotonic() - began < 20


def test_parameters_and_names_that_make_no_sense_are_our_errors(receiver: Receiver) -> None:
    """Whatever JSON can hold."""
    values = [None, True, 2**200, "\0", [], {}, [[1], "a"], {"a": {"b": []}}, "\ud800", 1e308]
    for value in values:
        answer = asked(receiver, {"sql": "SELECT $x", "parameters": {"x": value}})
        assert answer.status in (200, 400)
    for parameters in ([], "x", 7, {"": 1}, {"y": 1}):
        answer = asked(receiver, {"sql": "SELECT $x", "parameters": parameters})
        assert answer.status == 400
        assert issubclass(getattr(tk, json.loads(answer.body)["error"]), tk.TracekitError)
    for name in (None, 7, "", "tail", "tail/", "a/b/c", "../x", "tail/\0", ["x"], "store/" + "x" * 100_000):
        assert asked(receiver, {"arguments": [name]}, "/api/answers/query").status == 400


def test_the_writer_gets_memory_that_questions_hold(tmp_path: Path) -> None:
    """A commit that finds none ends the questions and is tried again; its senders notice nothing."""
    limits = AskingLimits(running=4, process_bytes=1 << 40)
    with started(
        tmp_path / "store.duckdb", limits, store_memory_bytes=160 << 20, asking_memory_bytes=16 << 20
    ) as running:
        over = threading.Event()

        def hold() -> None:
            while not over.is_set():
                asked(running, {"sql": QUESTIONS["list"], "time_limit_s": 20})

        holders = [threading.Thread(target=hold) for _ in range(4)]
        for holder in holders:
            holder.start()
        statuses = [request(running, "/v1/traces", exports.traces(2000)).status for _ in range(10)]
        over.set()
        for holder in holders:
            holder.join()
        assert statuses == [200] * 10
        assert running.store.database.sql("SELECT count(*) AS count FROM spans")["count"][0] == 20_000


def test_memory_is_given_back(server: ServeProcess) -> None:
    """After questions that needed much the process is about as small as before them."""
    ask(server, "SELECT 1", seconds=5)
    before = resident_bytes(server.process.pid)
    for _ in range(3):
        ask(server, QUESTIONS["longer_values"], seconds=2)
    deadline = time.monotonic() + 30
    while resident_bytes(server.process.pid) - before > 600 << 20:
        assert time.monotonic() < deadline
        time.sleep(0.5)
