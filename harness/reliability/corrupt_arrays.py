"""Arrays with corrupt structure, drawn by hypothesis: what decides which program runs is drawn from few."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

# Powers of two add up and multiply without rounding, in any order.
VALUES = (0.0, 1.0, -1.0, 0.5, 2.0, np.nan, np.inf, -np.inf)
FEW = 20  # values that are drawn one by one
FAR = (-1, -2, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1)


@dataclass(frozen=True)
class Sizes:
    """Of a matrix: rows, columns, entries; and the width of what it is multiplied with."""

    rows: int
    columns: int
    nse: int
    width: int


# With the dtype of what points into it. Of the first, what has one element per row, column or entry fills
# whole cache lines: see guarded_inputs.
SIZES = (
    (Sizes(15, 16, 16, 3), "int64"),
    (Sizes(3, 2, 40, 1), "int32"),
    (Sizes(33, 40, 12, 9), "uint32"),
    (Sizes(4, 0, 5, 2), "int64"),
    (Sizes(0, 3, 1, 4), "int32"),
)


class Draw:
    """Draws the arguments of one call; `quick`: one program for each operator."""

    def __init__(self, draw: Callable[[Any], Any], quick: bool) -> None:
        self.draw, self.quick = draw, quick
        self.sizes, self.index_dtype = self.one_of(*SIZES)
        self.transpose = self.one_of(True, False)
        self.defined = True

    def one_of(self, *options: Any) -> Any:
        """What decides which program runs."""
        return options[0] if self.quick else self.draw(st.sampled_from(options))

    @property
    def shape(self) -> tuple[int, int]:
        return self.sizes.rows, self.sizes.columns

    @property
    def operand(self) -> int:
        """How many elements a vector has that the matrix, or its transpose, multiplies."""
        return self.shape[0 if self.transpose else 1]

    def filled(self, values: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        # Drawn one by one, a thousand values take longer than the call; from a seed they shrink less.
        size, pool = int(np.prod(shape)), np.array(values, dtype)
        if size > FEW:
            return np.random.default_rng(self.draw(st.integers(0, 2**32 - 1))).choice(pool, shape)
        chosen = st.lists(st.integers(0, pool.size - 1), min_size=size, max_size=size)
        return pool[np.array(self.draw(chosen), int)].reshape(shape)

    def floats(self, *shape: int) -> np.ndarray:
        return self.filled(VALUES, shape, np.float32)

    def bools(self, *shape: int) -> np.ndarray:
        return self.filled((False, True), shape, bool)

    def events(self, *shape: int) -> np.ndarray:
        return self.bools(*shape) if self.one_of(True, False) else self.floats(*shape)

    def ids(self, size: int, *shape: int, dtype: str = "") -> np.ndarray:
        """Ids below `size` among such that are not."""
        limits = np.iinfo(dtype or self.index_dtype)
        pool = (*range(size), *range(size), -size, -size - 1, size, size + 1, *FAR)
        return self.filled([i for i in pool if limits.min <= i <= limits.max], shape, limits.dtype)

    def indptr(self, rows: int, nse: int) -> np.ndarray:
        """One that rises, within the entries or beyond, or anything."""
        ends = self.ids(nse + 1, rows + 1)
        if self.draw(st.booleans()):
            ends = np.sort(np.abs(ends) % (nse + 4)).astype(ends.dtype)
        exact = [int(x) for x in ends]
        self.defined &= exact == sorted(exact) and exact[0] >= 0
        return ends

    def structure(self) -> dict[str, np.ndarray]:
        sizes = self.sizes
        return {
            "indices": self.ids(sizes.columns, sizes.nse), "indptr": self.indptr(sizes.rows, sizes.nse)
        }  # fmt: skip

    def weights(self, *shape: int) -> np.ndarray:
        return self.floats(*shape) if self.one_of(True, False) else self.floats()
