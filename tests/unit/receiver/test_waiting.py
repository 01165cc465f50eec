"""When requests are read, and what is written together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import TypeVar

import pytest

from tracekit.receiver.export import Export
from tracekit.receiver.waiting import Taken, WaitingRequests

T = TypeVar("T")
KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def export(size_bytes: int) -> Export:
    return Export("traces", "protobuf", bytes(size_bytes), "http")


def read(*exports: Export) -> Taken:
    return Taken(list(exports), None, 0.0)


def sizes(group: list[Export] | None) -> list[int] | None:
    return None if group is None else [len(each.payload) for each in group]


def is_waiting(future: Future[T]) -> bool:
    with pytest.raises(TimeoutError):
        future.result(timeout=0.05)
    return True


def writer_waits(waiting: WaitingRequests, threads: ThreadPoolExecutor) -> Future[list[Taken] | None]:
    return threads.submit(waiting.take_read, timeout_s=30)


def test_one_request_is_read_at_once_where_the_writer_has_nothing_to_do(threads: ThreadPoolExecutor) -> None:
    """It need not wait for others."""
    waiting = WaitingRequests(group_bytes=MIB)
    written = writer_waits(waiting, threads)
    waiting.add(export(10))
    assert sizes(waiting.next_group()) == [10]
    waiting.add_read(read(export(10)))
    assert [taken.size_bytes for taken in written.result(timeout=5) or []] == [10]


def test_while_the_writer_is_busy_requests_gather(threads: ThreadPoolExecutor) -> None:
    """Until there is enough to read, or the writer is done."""
    waiting = WaitingRequests(group_bytes=8 * MIB)
    waiting.add(export(600 * KIB))
    few = threads.submit(waiting.next_group)
    assert is_waiting(few)
    waiting.add(export(600 * KIB))
    assert sizes(few.result(timeout=5)) == [600 * KIB, 600 * KIB]
    waiting.add(export(1))
    rest = threads.submit(waiting.next_group)
    assert is_waiting(rest)
    written = writer_waits(waiting, threads)
    assert sizes(rest.result(timeout=5)) == [1]
    waiting.add_read(read(export(1)))
    assert written.result(timeout=5) is not None


def test_no_more_is_read_ahead_than_a_group_holds(threads: ThreadPoolExecutor) -> None:
    """What has been read takes several times its memory; the writer takes all of it at once."""
    waiting = WaitingRequests(group_bytes=2 * MIB)
    for _ in range(3):
        waiting.add(export(2 * MIB))
    assert sizes(waiting.next_group()) == [2 * MIB]
    waiting.add_read(read(export(2 * MIB)))
    second = threads.submit(waiting.next_group)
    assert is_waiting(second)
    assert [taken.size_bytes for taken in waiting.take_read(timeout_s=5) or []] == [2 * MIB]
    assert sizes(second.result(timeout=5)) == [2 * MIB]


def test_a_request_larger_than_a_group_is_a_group() -> None:
    """Others do not join it."""
    waiting = WaitingRequests(group_bytes=2 * MIB)
    waiting.add(export(3 * MIB))
    waiting.add(export(1))
    assert sizes(waiting.next_group()) == [3 * MIB]


def test_what_waits_when_it_is_closed_is_still_read_and_written(threads: ThreadPoolExecutor) -> None:
    """Then both threads are told that this was all."""
    waiting = WaitingRequests(group_bytes=MIB)
    waiting.add(export(5))
    written = writer_waits(waiting, threads)
    waiting.close()
    assert not waiting.add(export(6))
    assert sizes(waiting.next_group()) == [5]
    waiting.add_read(read(export(5)))
    assert waiting.next_group() is None
    assert [taken.size_bytes for taken in written.result(timeout=5) or []] == [5]
    assert waiting.take_read(timeout_s=5) is None


def test_an_idle_writer_looks_up_now_and_then() -> None:
    """It has a broken store to open again."""
    assert WaitingRequests(group_bytes=MIB).take_read(timeout_s=0.01) == []


def test_every_request_comes_out_once_whatever_the_threads_do() -> None:
    """Many add, one reads, one writes."""
    waiting = WaitingRequests(group_bytes=64 * KIB)
    numbers = range(2000)
    sent = [export(number % 300 + 1) for number in numbers]
    seen: list[Export] = []

    def run(work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def reading() -> None:
        while (group := waiting.next_group()) is not None:
            waiting.add_read(read(*group))

    def writing() -> None:
        while (groups := waiting.take_read(timeout_s=0.01)) is not None:
            seen.extend(each for taken in groups for each in taken.exports)

    workers = [run(reading), run(writing)]
    senders = [run(lambda first=first: [waiting.add(each) for each in sent[first::4]]) for first in range(4)]  # type: ignore[misc]
    for sender in senders:
        sender.join()
    waiting.close()
    for worker in workers:
        worker.join()
    assert sorted(map(id, seen)) == sorted(map(id, sent))
