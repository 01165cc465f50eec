"""Requests whose root span ends while they still stream: a handler returns, and its response goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.partition import Forest, Partition


def with_streamed_roots(forest: Forest, span_facts: pl.DataFrame, facts: pl.DataFrame, partition: Partition) -> Forest:
    """The forest with every root that ended before its request's last token lasting until that token.

    Many server frameworks end their span when the handler returns a streaming response. What was asked for is
    not there before the last token has passed every layer that tells of it, and cutting off what runs until then would
    lose most of a request.

    `span_facts` is what spans tell of tokens (`Operations.facts`), `facts` what is known about each request,
    `partition` the one with the roots as they are. Only requests that ended well and have a single call are
    extended: whoever gave up or went away did not wait for tokens that came later.
    """
    end_ns = streamed_until_ns(span_facts, facts, partition)
    late = np.flatnonzero(end_ns > partition.root_end_ns)
    if not len(late):
        return forest
    # All other roots stay as they came: a root that ends before it starts must be seen as that.
    ends = forest.end_ns.copy()
    ends[partition.root_row[late]] = end_ns[late]
    return replace(forest, end_ns=ends)


def streamed_until_ns(span_facts: pl.DataFrame, facts: pl.DataFrame, partition: Partition) -> NDArray[np.int64]:
    """End of each request on the clock of its root: that of the root, or its last token where that is later."""
    end_ns = partition.root_end_ns.copy()
    row = span_facts["row"].to_numpy()
    token_ns = _latest_token_ns(span_facts) + partition.shift_ns[row]
    key = partition.key[row]
    streams = (facts["outcome"] == "ok").to_numpy() & ~facts["has_several_calls"].to_numpy()
    is_late = streams[key] & (token_ns > end_ns[key]) & (partition.start_ns[row] < end_ns[key])
    # A span cannot tell of a token that came after its own end.
    is_late &= partition.is_primary[row] & (token_ns <= partition.end_ns[row])
    np.maximum.at(end_ns, key[is_late], token_ns[is_late])
    return end_ns


def _latest_token_ns(span_facts: pl.DataFrame) -> NDArray[np.int64]:
    """The last token that each span tells of, else the first; 0 where it tells of none."""
    latest = pl.coalesce(pl.max_horizontal("first_token_ns", "last_token_ns"), pl.lit(0, dtype=pl.Int64))
    return span_facts.select(latest).to_series().to_numpy()
