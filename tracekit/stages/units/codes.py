"""Names as numbers: millions of rows share few stages and operations."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray


class Codes:
    """Numbers for names, given out in order of appearance; `names[code]` is the name."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._code_of: dict[str, int] = {}

    def code(self, name: str) -> int:
        """The number of a name, a new one for a new name."""
        code = self._code_of.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def encode(self, column: pa.Array | pa.ChunkedArray) -> NDArray[np.int32]:
        """The numbers of a column of names without nulls."""
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        encoded = whole.dictionary_encode()
        codes = np.array([self.code(name) for name in encoded.dictionary.to_pylist()], dtype=np.int32)
        return codes[encoded.indices.to_numpy()] if len(codes) else np.empty(0, dtype=np.int32)

    def decode(self, codes: NDArray[np.int32]) -> pl.Series:
        """The names of numbers."""
        return pl.Series(self.names, dtype=pl.String).gather(pl.Series(codes, dtype=pl.UInt32))
