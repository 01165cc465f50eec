"""The exact per-trace partition: every nanosecond of a root belongs to exactly one operation.

Arrays in, arrays out; the keys (traces) are independent of each other, so batches of them can be computed
anywhere. `partition` does the work on a `Forest`; `owned_segments` reads its result.
`priority_sweep` divides windows among operations by priority instead of by parentage.
"""

from tracekit.partition.arrays import Array
from tracekit.partition.forest import NO_WAIT, PARENT_MISSING, PARENTLESS, UNKNOWN_HOST, Forest
from tracekit.partition.placement import partition
from tracekit.partition.result import Defects, Partition
from tracekit.partition.skew import Skew, estimate_skew
from tracekit.partition.sweep import GAP, SweptSegments, priority_sweep
from tracekit.partition.windows import OwnedSegments, owned_segments

__all__ = [
    "GAP",
    "NO_WAIT",
    "PARENTLESS",
    "PARENT_MISSING",
    "UNKNOWN_HOST",
    "Array",
    "Defects",
    "Forest",
    "OwnedSegments",
    "Partition",
    "Skew",
    "SweptSegments",
    "estimate_skew",
    "owned_segments",
    "partition",
    "priority_sweep",
]
