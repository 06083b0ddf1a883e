"""`CSR` from and to other convert."""

from __future__ import annotations

import os
from typing import Any, Self

from jax.typing import ArrayLike

from event_ops.sparse import convert
from event_ops.sparse.convert import Parts, coordinates
from event_ops.sparse.csr_base import CSRBase


class CSRConvert(CSRBase):
    """The conversions of a `CSR`; what they build is validated, unless validate=False."""

    @classmethod
    def _of(cls, parts: Parts, validate: bool = True) -> Self:
        return cls(*parts[:3], shape=parts.shape, validate=validate)

    def _parts(self) -> Parts:
        A = self.tocsr()
        return Parts(A.repeated_data(), A.indices, A.indptr, A.shape)

    @classmethod
    def from_scipy(cls, matrix: Any, *, validate: bool = True) -> Self:
        """Convert a SciPy sparse matrix or array of any format, as `CSR(matrix)` does."""
        return cls._of(convert.parts_of_scipy(matrix), validate)

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csr_array`."""
        return convert.scipy_of_parts(self._parts())

    @classmethod
    def from_coo(
        cls, row: Any, col: Any = None, data: Any = None, *, shape: tuple[int, int], validate: bool = True
    ) -> Self:
        """Make a matrix of entries (row, col, data) in any order, or as SciPy has them, (data, (row, col)).

        Works under jit.
        """
        row, col, data = coordinates(row, col, data)
        return cls._of(convert.parts_of_coo(row, col, data, shape, validate), validate)

    @classmethod
    def from_bcoo(cls, matrix: Any, *, validate: bool = True) -> Self:
        """Convert a `jax.experimental.sparse.BCOO` without batch and dense axes, as `CSR(matrix)` does."""
        return cls._of(convert.parts_of_bcoo(matrix, validate), validate)

    @classmethod
    def from_bcsr(cls, matrix: Any, *, validate: bool = True) -> Self:
        """Convert a `jax.experimental.sparse.BCSR` without batch and dense axes, as `CSR(matrix)` does."""
        return cls._of(convert.parts_of_bcsr(matrix, validate), validate)

    def to_bcsr(self) -> Any:
        """A `jax.experimental.sparse.BCSR`."""
        return convert.bcsr_of_parts(self._parts())

    @classmethod
    def from_dense(cls, matrix: ArrayLike, *, nse: int | None = None) -> Self:
        """Of the elements that are not zero; under jit `nse`, the most there can be, has to be given."""
        return cls._of(convert.parts_of_dense(matrix, nse))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, validate: bool = True) -> Self:
        """Of a Matrix Market file (.mtx, .mtx.gz), or of a .npz that `scipy.sparse.save_npz` wrote."""
        return cls._of(convert.parts_of_file(path), validate)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Matrix Market file (.mtx), or a .npz that `scipy.sparse.load_npz` reads."""
        convert.write_file(path, self._parts())
