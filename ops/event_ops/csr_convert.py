"""`CSR` from and to other formats."""

from __future__ import annotations

import os
from typing import Any, Self

from jax.typing import ArrayLike

from event_ops import csr_files, csr_formats
from event_ops.csr_base import CSRBase
from event_ops.csr_formats import Parts


class CSRConvert(CSRBase):
    """The conversions of a `CSR`; what they build is validated."""

    @classmethod
    def _of(cls, parts: Parts) -> Self:
        return cls(*parts[:3], shape=parts.shape)

    def _parts(self) -> Parts:
        A = self.tocsr()
        return Parts(A.repeated_data(), A.indices, A.indptr, A.shape)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Self:
        """Of a SciPy sparse matrix or array in any format."""
        return cls._of(csr_formats.parts_of_scipy(matrix))

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csr_array`."""
        return csr_formats.scipy_of_parts(self._parts())

    @classmethod
    def from_coo(cls, row: ArrayLike, col: ArrayLike, data: ArrayLike, *, shape: tuple[int, int]) -> Self:
        """Of entries (row, col, data) in any order; works under jit."""
        return cls._of(csr_formats.parts_of_coo(row, col, data, shape))

    @classmethod
    def from_bcoo(cls, matrix: Any) -> Self:
        """Of a `jax.experimental.sparse.BCOO` without batch and dense axes."""
        return cls._of(csr_formats.parts_of_bcoo(matrix))

    @classmethod
    def from_bcsr(cls, matrix: Any) -> Self:
        """Of a `jax.experimental.sparse.BCSR` without batch and dense axes."""
        return cls._of(csr_formats.parts_of_bcsr(matrix))

    def to_bcsr(self) -> Any:
        """A `jax.experimental.sparse.BCSR`."""
        return csr_formats.bcsr_of_parts(self._parts())

    @classmethod
    def from_dense(cls, matrix: ArrayLike, *, nse: int | None = None) -> Self:
        """Of the elements that are not zero; under jit `nse`, the most there can be, has to be given."""
        return cls._of(csr_formats.parts_of_dense(matrix, nse))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Of a Matrix Market file (.mtx, .mtx.gz), or of a .npz that `scipy.sparse.save_npz` wrote."""
        return cls._of(csr_files.parts_of_file(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Matrix Market file (.mtx), or a .npz that `scipy.sparse.load_npz` reads."""
        csr_files.write_file(path, self._parts())
