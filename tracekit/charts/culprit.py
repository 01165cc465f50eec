"""Which stage of a tail gets the accent."""

from __future__ import annotations

import polars as pl

from tracekit.schema import UNATTRIBUTED, StepStage

BLAMELESS_VERDICTS = frozenset({
    "mix_not_slowness", "size_or_slowness", "load_or_slowness", "improved", "no_excess", "excess_spread",
    "excess_unattributed",
})  # fmt: skip
# A rank that waits is not the culprit, and time without a span has none: neither gets the accent.
_NOBODYS_STAGES = (UNATTRIBUTED, StepStage.STRAGGLER_WAIT)


def culprit(stages: pl.DataFrame, *, verdict: str) -> str | None:
    """The stage with the largest part of the excess, if that names somebody and is not chance; else None.

    Nobody is to blame where the slow ones are mostly larger, or faster, or no different.
    """
    if stages.is_empty() or verdict in BLAMELESS_VERDICTS:
        return None
    first = stages.sort("excess_ns", "stage", descending=[True, False]).row(0, named=True)
    is_named = first["stage"] not in _NOBODYS_STAGES and first["excess_ns"] > 0
    is_slower = 2 * first["rate_ns"] >= first["excess_ns"]
    return first["stage"] if is_named and is_slower and first["significant"] is not False else None
