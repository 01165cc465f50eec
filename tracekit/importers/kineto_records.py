"""Profiles of PyTorch's profiler as spans of tracekit's own convention; the profiles of a folder are one job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.importers.operation_records import step_batch
from tracekit.importers.tables import rejects
from tracekit.records import Batch, Input, Piece, Reason, documents_at

if TYPE_CHECKING:
    import polars as pl

    from tracekit.importers.kineto import Profile

SCOPE = "tracekit.importers.kineto"

_HEAD_BYTES = 1 << 16
_STEPS_A_PIECE = 8


class KinetoProfile:
    """PyTorch's profiler; `tracekit.importers.kineto` says what becomes of its events."""

    name = "PyTorch profiler trace (Kineto)"
    expects = "a trace of PyTorch's profiler (Kineto JSON)"

    def recognise(self, source: Input) -> bool:
        """Whether the content begins as a profile does."""
        from tracekit.importers.kineto import is_profile

        return is_profile(source.peek(_HEAD_BYTES))

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """The steps of the rank as spans. Raises `UnknownFormatError` where the file cannot be read whole."""
        from tracekit.importers.kineto import MAX_BYTES, read_profile, step_operations

        origin = source.origin if source.origin is not None else Path("profile/profile.json")
        profile = read_profile(source.whole(MAX_BYTES), name=origin.name)
        operations, steps, notes = step_operations(profile)
        notes = profile.notes | notes
        if steps.is_empty():
            notes["the profile shows no work of a device or of the host"] = 1
        faults = rejects("traces", "note", Reason.ASSUMED, notes)
        yield Piece(Batch.of(rejects=faults, documents=documents_at([0])), self.name)
        for first in range(0, steps.height, _STEPS_A_PIECE):
            some = steps.slice(first, _STEPS_A_PIECE)
            yield Piece(_batch(operations, some, profile, job=origin.resolve().parent.name), self.name)


def _batch(operations: pl.DataFrame, steps: pl.DataFrame, profile: Profile, *, job: str) -> Batch:
    import polars as pl

    whose = {"job": pl.lit(job), "attempt": pl.lit(0, pl.Int32), "rank": pl.lit(profile.rank, pl.Int32)}
    chosen = operations.join(steps.select("step"), on="step", how="semi").with_columns(
        **whose,
        host=pl.lit(profile.host, pl.String),
        sequence=pl.int_range(pl.len(), dtype=pl.Int32).over("step", "operation"),
        **dict.fromkeys(("data_parallel_rank", "tensor_parallel_rank", "pipeline_stage"), pl.lit(None, pl.Int32)),
        **dict.fromkeys(("microbatch", "chunk", "model_chunk"), pl.lit(None, pl.Int32)),
    )
    more = {} if profile.world_size is None else {"tracekit.world_size": profile.world_size}
    return step_batch(chosen, steps.with_columns(**whose), scope_name=SCOPE, more=more)
