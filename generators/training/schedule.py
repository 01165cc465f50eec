"""Pipeline schedules: in which order each stage computes its micro-batches, and who needs whose output.

1F1B (PipeDream-flush) and interleaved 1F1B as in Megatron-LM (Narayanan et al., 2021): a stage warms up with
forwards, then alternates one forward and one backward, then drains backwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FORWARD, BACKWARD = range(2)
NO_INPUT = -1

Operation = tuple[int, int, int]
"""Direction, model chunk of the stage, micro-batch."""


@dataclass(frozen=True)
class Schedule:
    """What every rank of a stage computes in a step, by place in the stage's order.

    `program`: stage x place x (direction, chunk, micro-batch). `source`: stage x place x (stage, place) of the
    operation whose output arrives over a link, or NO_INPUT. `order`: all (stage, place), each after its input.
    `sequence`: stage x place, the number of the transfer among those of the same pair and direction.
    """

    program: np.ndarray
    source: np.ndarray
    order: np.ndarray
    sequence: np.ndarray


def schedule(*, stages: int, micro_batches: int, chunks: int) -> Schedule:
    """The schedule; `chunks` of 1 is plain 1F1B, more are interleaved.

    Interleaving needs micro-batches that the number of stages divides.
    """
    programs = [_program(stage, stages, micro_batches, chunks) for stage in range(stages)]
    place = {(stage, *one): k for stage, program in enumerate(programs) for k, one in enumerate(program)}
    source = np.full((stages, len(programs[0]), 2), NO_INPUT, np.int64)
    for stage, program in enumerate(programs):
        for k, one in enumerate(program):
            origin = _origin(stage, one, stages, chunks)
            if origin is not None and origin[0] != stage:
                source[stage, k] = origin[0], place[origin]
    return Schedule(np.array(programs, np.int64), source, _order(source), _sequence(np.array(programs), source))


def _program(stage: int, stages: int, micro_batches: int, chunks: int) -> list[Operation]:
    if chunks == 1:
        forwards = [(FORWARD, 0, batch) for batch in range(micro_batches)]
        backwards = [(BACKWARD, 0, batch) for batch in range(micro_batches)]
        warm_up = stages - stage - 1
    else:
        turns = [_turn(k, stages, chunks) for k in range(micro_batches * chunks)]
        forwards = [(FORWARD, chunk, batch) for chunk, batch in turns]
        backwards = [(BACKWARD, chunks - 1 - chunk, batch) for chunk, batch in turns]
        warm_up = 2 * (stages - stage - 1) + (chunks - 1) * stages
    warm_up = min(warm_up, len(forwards))
    steady = [one for pair in zip(forwards[warm_up:], backwards, strict=False) for one in pair]
    return forwards[:warm_up] + steady + backwards[len(forwards) - warm_up :]


def _turn(k: int, stages: int, chunks: int) -> tuple[int, int]:
    """Chunk and micro-batch of the k-th forward: chunks take turns, a group of `stages` micro-batches each."""
    group, place = divmod(k, stages * chunks)
    return place // stages, group * stages + place % stages


def _origin(stage: int, one: Operation, stages: int, chunks: int) -> tuple[int, int, int, int] | None:
    """The operation whose output this one needs; None where it needs data or its own stage's forward only."""
    direction, chunk, batch = one
    virtual = chunk * stages + stage + (1 if direction == BACKWARD else -1)
    if not 0 <= virtual < stages * chunks:
        return None
    return virtual % stages, direction, virtual // stages, batch


def _order(source: np.ndarray) -> np.ndarray:
    """All places, each after the places before it in its stage and after its input."""
    stages, places = source.shape[:2]
    done: list[int] = [0] * stages
    order: list[tuple[int, int]] = []
    while len(order) < stages * places:
        before = len(order)
        for stage in range(stages):
            while done[stage] < places and _is_ready(source[stage, done[stage]], done):
                order.append((stage, done[stage]))
                done[stage] += 1
        assert len(order) > before, "the schedule waits for itself"
    return np.array(order, np.int64)


def _is_ready(origin: np.ndarray, done: list[int]) -> bool:
    return bool(origin[0] == NO_INPUT or done[origin[0]] > origin[1])


def _sequence(program: np.ndarray, source: np.ndarray) -> np.ndarray:
    sequence = np.zeros(source.shape[:2], np.int64)
    for stage in range(source.shape[0]):
        for direction in (FORWARD, BACKWARD):
            has_input = (source[stage, :, 0] != NO_INPUT) & (program[stage, :, 0] == direction)
            sequence[stage, has_input] = np.arange(has_input.sum())
    return sequence
