"""A server takes no more memory than its machine or container has."""

from __future__ import annotations

import os

import pytest

from tracekit.errors import UsageError
from tracekit.receiver import ReceiverSettings
from tracekit.serving.memory import allowed_bytes
from tracekit.serving.serve import ServeSettings, fitting

MIB = 1 << 20
SETTINGS = ServeSettings(ReceiverSettings())


def test_enough_memory_changes_nothing() -> None:
    """1.5 GiB is what the settings add up to."""
    assert fitting(SETTINGS, 1536 * MIB) == SETTINGS


@pytest.mark.parametrize("memory_mib", [1537, 2048, 4096, 24_000, 1_000_000])
def test_more_memory_is_for_tracekits_own_questions(memory_mib: int) -> None:
    """Within what there is, and with as much left for a commit as before; SQL and requests are bounded as they were."""
    fitted = fitting(SETTINGS, memory_mib * MIB)
    receiver, asking = fitted.receiver, fitted.asking
    assert asking.process_bytes + asking.answers_bytes < memory_mib * MIB
    assert asking.answers_bytes <= 3072 * MIB
    assert _left_for_commits(fitted) == _left_for_commits(SETTINGS)
    assert (asking.duckdb_bytes, receiver.max_waiting_bytes) == (
        SETTINGS.asking.duckdb_bytes,
        SETTINGS.receiver.max_waiting_bytes,
    )


def _left_for_commits(settings: ServeSettings) -> int:
    receiver, asking = settings.receiver, settings.asking
    held_bytes = receiver.store_memory_bytes + receiver.asking_memory_bytes
    return held_bytes - asking.duckdb_bytes - asking.answers_duckdb_bytes


@pytest.mark.parametrize("memory_mib", [512, 640, 768, 1024, 1500])
def test_less_memory_is_shared_as_the_whole_was(memory_mib: int) -> None:
    """What may be taken stays below what there is, and every part keeps some."""
    fitted = fitting(SETTINGS, memory_mib * MIB)
    receiver, asking = fitted.receiver, fitted.asking
    assert asking.process_bytes < memory_mib * MIB
    assert asking.duckdb_bytes < receiver.store_memory_bytes + receiver.asking_memory_bytes
    assert receiver.max_request_bytes <= receiver.max_waiting_bytes
    for part in (receiver.group_bytes, receiver.max_request_bytes, asking.operator_memory_bytes, asking.growth_bytes):
        assert part > MIB
    assert (receiver.http_port, asking.running) == (SETTINGS.receiver.http_port, SETTINGS.asking.running)


def test_too_little_is_told_at_the_start() -> None:
    """Rather than a server that is killed when the first load comes."""
    with pytest.raises(UsageError, match="may have 400 MiB of memory, and serving needs 512"):
        fitting(SETTINGS, 400 * MIB)


def test_what_is_allowed_is_no_more_than_the_machine_has() -> None:
    """Whatever its control groups say."""
    assert 0 < allowed_bytes() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
