"""How the package's functions are compiled, and when compiled code of an earlier run may be used."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy", _nrt=False, forceinline=True)
"""Compiles a function that works on arrays it is given and allocates none.

It becomes part of its callers. Without numba's memory runtime no reference is counted when arrays are
handed on, which in a function called per byte or per field costs more than the work itself. Such a function
may return numbers only.
"""

outlined = njit(nogil=True, cache=True, error_model="numpy", _nrt=False)
"""The same for a longer function or one that is called less often: it is compiled once and called."""

allocating = njit(nogil=True, cache=True, error_model="numpy")
"""Compiles a function that makes arrays."""


index = np.uint64
"""Makes an index that numba need not test for being negative; the test costs a fifth of the time."""


def _forget_stale_code(package: Path) -> None:
    """Removes cached machine code that is older than any source file of the package.

    numba looks only at the file of the function itself, but the code holds what other files define, inlined.
    """
    changed_at = max(path.stat().st_mtime for path in package.glob("*.py"))
    for cached in (package / "__pycache__").glob("*.nbi"):
        with suppress(OSError):  # another process may have removed it, or the folder may be read-only
            if cached.stat().st_mtime < changed_at:
                cached.unlink()


_forget_stale_code(Path(__file__).parent)
