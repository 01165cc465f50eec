"""Which part of a build each trace goes to: traces that share a name go together, the others anywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from tracekit.stages import MOST_TRACES
from tracekit.warehouse.names import Names

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Groups:
    """`members`: `trace_id` and `group` (the trace that stands for all of it) of every trace that belongs with others.

    `crowded`: names that more traces have than one request may have.
    """

    members: pa.Table
    crowded: tuple[str, ...]


def groups_of(names: Names) -> Groups:
    """The groups of traces that share a name, directly or by others."""
    counts = names.requests.group_by(["name"]).aggregate([("trace_id", "count_distinct")])
    is_crowded = compute.greater(counts["trace_id_count_distinct"], MOST_TRACES)
    crowded = counts["name"].filter(is_crowded).combine_chunks()
    asked = names.requests.filter(compute.invert(compute.is_in(names.requests["name"], value_set=crowded)))
    pairs = pa.concat_tables([_prefixed(asked, "request "), _prefixed(names.jobs, "job ")])
    return Groups(_members(pairs), tuple(crowded.to_pylist()))


def _prefixed(pairs: pa.Table, prefix: str) -> pa.Table:
    named = compute.binary_join_element_wise(prefix, pairs["name"], "")
    return pa.table({"name": named, "trace_id": pairs["trace_id"].cast(pa.binary(16))})


def _members(pairs: pa.Table) -> pa.Table:
    traces = pairs["trace_id"].combine_chunks().dictionary_encode()
    names = pairs["name"].combine_chunks().dictionary_encode()
    label = components(
        traces.indices.to_numpy().astype(np.int64),
        names.indices.to_numpy().astype(np.int64) + len(traces.dictionary),
        len(traces.dictionary) + len(names.dictionary),
    )[: len(traces.dictionary)]
    return pa.table({"trace_id": traces.dictionary, "group": traces.dictionary.take(pa.array(label))})


def components(left: NDArray[np.int64], right: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The smallest node that each of `count` nodes is connected with by edges between `left` and `right`."""
    label = np.arange(count)
    while True:
        before = label.copy()
        smaller = np.minimum(label[left], label[right])
        # The smallest label moves to the nodes and to what stood for them, then along.
        for nodes in (left, right):
            np.minimum.at(label, before[nodes], smaller)
            np.minimum.at(label, nodes, smaller)
        label = label[label]
        if np.array_equal(label, before):
            return label


def parts_of(trace_ids: pa.Array, groups: pa.Table, part_count: int) -> NDArray[np.int64]:
    """The part of each trace, 0 to `part_count` - 1: that of its group, by the bytes of an id alone."""
    place = compute.index_in(trace_ids, value_set=groups["trace_id"].combine_chunks())
    standing = groups["group"].combine_chunks().take(place)
    return _hashed(compute.coalesce(standing, trace_ids)) % part_count


def _hashed(ids: pa.Array) -> NDArray[np.int64]:
    one = pa.concat_arrays([ids]) if ids.offset else ids
    words = np.frombuffer(one.buffers()[1], np.uint64)[: 2 * len(one)].reshape(-1, 2)
    mixed = (words[:, 0] ^ (words[:, 1] * _MIX)) * _MIX
    return (mixed >> _SHIFT).astype(np.int64)
