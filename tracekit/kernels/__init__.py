"""Numerical kernels: functions that numba compiles when they are first called.

Importing a module with kernels costs no more than its source: numba is loaded by the first call. Compiled code is
kept beside the source, and built again when anything changes that it was made from.

`kernel` is the plain decorator; `inlined`, `outlined` and `allocating` are for code that goes through bytes.
`tracekit.kernels.unaligned` reads and writes eight bytes at once, `tracekit.kernels.hash_table` is the one hash
table, with a seed that nobody outside knows.
"""

from tracekit.kernels.compiling import intrinsic, kernel, tell_of_compiling
from tracekit.kernels.native import allocating, index, inlined, outlined

__all__ = ["allocating", "index", "inlined", "intrinsic", "kernel", "outlined", "tell_of_compiling"]
