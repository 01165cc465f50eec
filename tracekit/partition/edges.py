"""Step 7 of the partition: calls between services as edges.

The self time of a client span that wraps one remote span is neither the caller's nor the callee's: it is
the transport and the waiting between the two. It is a stage of its own, `edge:caller->callee`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import UsageError
from tracekit.kernels import kernel
from tracekit.partition.arrays import Array
from tracekit.partition.forest import Forest

NO_EDGE = -1
"""Value of `edge_rows` for a row that is not the client's end of an edge."""


def edge_rows(forest: Forest, service: NDArray[np.int32]) -> NDArray[np.int64]:
    """For each row the row of the remote operation that it wraps, or `NO_EDGE`.

    A row wraps a remote operation when it is a client and exactly one of its blocking children belongs to
    another service. `service` is the number of the service of each row. Raises `UsageError` where it has
    not one value a row.
    """
    if np.shape(service) != forest.key.shape:
        raise UsageError(f"service has shape {np.shape(service)} for {forest.row_count} rows; give one value a row")
    return _edge_rows(
        forest.parent,
        forest.blocking,
        forest.is_client,
        np.require(service, dtype=np.int32, requirements=["C", "A", "W"]),
    )


@kernel
def _edge_rows(parent: Array, blocking: Array, is_client: Array, service: Array) -> Array:
    several = -2
    callee = np.full(parent.shape[0], NO_EDGE, dtype=np.int64)
    for row in range(parent.shape[0]):
        caller = parent[row]
        if caller < 0 or not blocking[row] or not is_client[caller] or service[caller] == service[row]:
            continue
        callee[caller] = row if callee[caller] == NO_EDGE else several
    return np.maximum(callee, NO_EDGE)
