"""Units that are split off from their trace take all that lies below them along."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def passed_down(key: NDArray[np.int64], parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every span with the greatest key of what it lies below, a level a round."""
    has_parent = parent >= 0
    while True:
        inherited = np.where(has_parent, np.maximum(key, key[np.maximum(parent, 0)]), key)
        if np.array_equal(inherited, key):
            return key
        key = inherited
