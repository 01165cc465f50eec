"""When each request was where in its engine, laid out from the stages of its time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.partition import Array


@dataclass(frozen=True)
class EngineTimes:
    """Requests that an engine served, one element a request, in order of arrival at the engines; times in ns.

    row: its row in the frame of `queries/whatif/requests.sql`. engine: number of the engine. dispatched: an engine had
    been chosen. queued, scheduled, first, last: it waited for the batch, was in it, had its first and its last token.
    prompt, output: tokens. engines: names of the engines.
    """

    row: Array
    engine: Array
    dispatched_ns: Array
    queued_ns: Array
    scheduled_ns: Array
    first_ns: Array
    last_ns: Array
    prompt_tokens: Array
    output_tokens: Array
    engines: list[str]

    @property
    def count(self) -> int:
        """Number of requests."""
        return len(self.row)


def engine_times(requests: pl.DataFrame) -> EngineTimes:
    """Lay out the requests that took time of a known engine.

    Of a request that did not end well, tokens are what its time in the batch gave the others.
    """
    frame = requests.with_row_index("row").filter(
        pl.col("engine").is_not_null() & ((pl.col("prefill_ns") > 0) | (pl.col("decode_ns") > 0))
    )
    before_out = pl.col("first_token_ns") - pl.col("first_out_ns")
    seen_end = pl.col("end_ns") - pl.col("decode_ns") - pl.col("decode_out_ns")
    frame = frame.with_columns(
        first_ns=pl.when("is_served").then(before_out).otherwise(pl.coalesce(before_out, seen_end))
    )
    frame = frame.with_columns(
        last_ns=pl.when("is_served")
        .then(pl.max_horizontal("first_ns", pl.col("last_token_ns") - pl.col("decode_out_ns")))
        .otherwise(pl.col("first_ns") + pl.col("decode_ns")),
        scheduled_ns=pl.col("first_ns") - pl.col("prefill_ns"),
    )
    frame = frame.with_columns(queued_ns=pl.col("scheduled_ns") - pl.col("queue_ns"))
    frame = frame.with_columns(dispatched_ns=pl.col("queued_ns") - pl.col("dispatch_ns")).sort("queued_ns", "row")
    engines = sorted(frame["engine"].unique().to_list())
    numbers = {name: number for number, name in enumerate(engines)}
    columns = ("dispatched_ns", "queued_ns", "scheduled_ns", "first_ns", "last_ns")
    times = {name: frame[name].to_numpy().astype(np.int64) for name in columns}
    return EngineTimes(
        row=frame["row"].to_numpy().astype(np.int64),
        engine=np.array([numbers[name] for name in frame["engine"].to_list()], dtype=np.int64),
        **times,
        prompt_tokens=np.maximum(frame["input_tokens"].fill_null(1).to_numpy().astype(np.int64), 1),
        output_tokens=_output_tokens(frame, times),
        engines=engines,
    )


def _output_tokens(frame: pl.DataFrame, times: dict[str, Array]) -> Array:
    """Tokens of each request; where unknown, by the time in the batch and what a token usually takes."""
    tokens = frame["output_tokens"].fill_null(-1).to_numpy().astype(np.int64)
    decode_ns = times["last_ns"] - times["first_ns"]
    known = (tokens > 1) & frame["is_served"].to_numpy() & (decode_ns > 0)
    per_token_ns = decode_ns[known].sum() / max((tokens[known] - 1).sum(), 1) if known.any() else 1.0
    guessed = 1 + np.rint(decode_ns / max(per_token_ns, 1.0)).astype(np.int64)
    is_known = (tokens > 0) & frame["is_served"].to_numpy()
    return np.maximum(np.where(is_known, tokens, guessed), 1)
