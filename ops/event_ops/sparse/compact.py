"""`CompactCSR`: a sparse matrix of which an entry, its column and its weight, is a word of 32 or 16 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.typing import ArrayLike

from event_ops.catalog.compact_event_matvec.op import compact_event_matvec
from event_ops.catalog.compact_matvec.op import compact_matvec
from event_ops.catalog.csr_matmat.op import csr_matmat
from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.checks.arrays import FLOATS, as_array, is_known
from event_ops.checks.csr import matrix_shape
from event_ops.checks.packed_entries import are_narrow, check_words, scale_of
from event_ops.kernels.reference.entries import rows_of, values_at
from event_ops.kernels.reference.packed_entries import in_rows, words_of
from event_ops.sparse import arithmetic, compact_convert, products
from event_ops.sparse.events import Events
from event_ops.sparse.matrix import FORMATS, Readable, register_format

LEAVES = ("entries", "indptr", "scale", "error", "by_column")


class WordsByColumn(NamedTuple):
    """The entries of the transpose, words with the same codes, row by row."""

    entries: jax.Array
    indptr: jax.Array


export.register_namedtuple_serialization(WordsByColumn, serialized_name="event_ops.WordsByColumn")


class WordsInParts(NamedTuple):
    """The entries in parts of the columns, words whose columns are counted from the first of their part."""

    entries: jax.Array  # (nse,), uint32 or uint16, those of the first part in front
    indptr: jax.Array  # (parts, rows + 1)
    starts: jax.Array  # (parts + 1,), the first column of each part, and the number of columns


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CompactCSR(Readable):
    """`A[i, column[k]] += code[k] * scale[i]` for the words k of row i: a CSR matrix of 4 or 2 bytes a word.

    `CSR.compact` makes one. A word of 32 bits holds the column in its low bits, and above it a signed code,
    as `compact_matvec` says; one of 16 bits holds a column alone, and its code is 1. A pytree, an argument or
    a result of any transformed function: entries, indptr, scale and error are leaves. `A @ v`, `v @ A`, and
    the same with `Events`, read the words as they are; a product with a dense matrix, or of 32-bit words in
    parts, first writes out weights and columns, 8 bytes an entry. Differentiable in scale and in operands.
    Codes do not change: weights that learn are those of a `CSR`.

    Args:
        entries: (nse,), uint32 or uint16, the words.
        indptr: (rows + 1,), non-decreasing: row i is the words from indptr[i] up to indptr[i + 1]. Or
            (parts, rows + 1), for equal parts of the columns, which words count from the first of their part;
            of uint16 no part has more than 65,536.
        scale: (), of all weights, or (rows,), one for each row; float32 or float64.
        error: the largest relative error of a weight, where it was made from others.
        shape: (rows, columns), static.

    Raises:
        TypeError: a dtype that is not supported.
        ValueError: sizes that do not fit `shape`.

    Example:
        >>> import numpy as np
        >>> from event_ops import CSR
        >>> A = CSR.from_dense(np.array([[1, 0, 2], [0, -3, 0]], np.float32)).compact()
        >>> A
        CompactCSR(2 x 3, 3 entries (0.5 of all), float32, codes of 30 bits, one scale, exact)
        >>> A @ np.ones(3, np.float32)
        Array([ 3., -3.], dtype=float32)

    Source: the compressed sparse row format; weights in fixed point.
    """

    entries: jax.Array
    indptr: jax.Array
    scale: jax.Array
    error: jax.Array
    by_column: WordsByColumn | None

    def __init__(
        self, entries: ArrayLike, indptr: ArrayLike, scale: ArrayLike, error: ArrayLike = 0.0, *, shape: Any
    ) -> None:
        entries, indptr = as_array(entries, "entries"), as_array(indptr, "indptr")
        scale, size = as_array(scale_of(scale, float)), matrix_shape(shape)
        check_words(entries, indptr, scale, size, wide_parts=True)
        vars(self).update(entries=entries, indptr=indptr, scale=scale, error=jnp.asarray(error, jnp.float32))
        vars(self).update(by_column=None, stored_shape=size, transposed=False)

    @property
    def nse(self) -> int:
        """The number of stored entries."""
        return self.entries.shape[-1]

    @property
    def dtype(self) -> Any:
        """The dtype of the weights, that of scale."""
        return self.scale.dtype

    @property
    def code_bits(self) -> int:
        """Return how many bits of a word hold the code, its sign among them; 0 where all codes are 1."""
        return 0 if are_narrow(self.entries) else compact_convert.code_bits(self.stored_shape[1])

    def __repr__(self) -> str:
        rows, columns = self.shape
        full = f" ({self.nse / (rows * columns):.2g} of all)" if rows * columns else ""
        scales = "one scale" if self.scale.ndim == 0 else "a scale per row"
        error_known = is_known(self.error) and not self.error.ndim
        error = f"error {float(self.error):.2g}" if error_known and self.error else "exact"
        error = error if error_known else "error not known"
        notes = ", transposed" * self.transposed + ", planned" * (self.by_column is not None)
        word_kind = f"codes of {self.code_bits} bits" if self.code_bits else "words of 16 bits"
        return (
            f"CompactCSR({rows} x {columns}, {self.nse} entries{full}, {self.dtype}, {word_kind}, {scales}, "
            f"{error}{notes})"
        )

    def with_scale(self, scale: ArrayLike) -> Self:
        """Return the matrix with another scale, a number for all weights or (rows,), as it is stored."""
        new_scale = as_array(scale_of(scale, self.dtype))
        check_words(self.entries, self.indptr, new_scale, self.stored_shape, wide_parts=True)
        return self._changed(scale=new_scale)

    def plan(self) -> Self:
        """Return the matrix with its words stored by column too, so that `A @ Events(x)` follows events.

        A plan costs a sort and as many bytes an entry again. Raise ValueError if the codes leave fewer bits
        than a row needs, and for a matrix that is being traced.
        """
        rows, _ = self.stored_shape
        compact_convert.check_known(self.entries, self.indptr)
        codes, ids, ends = in_rows(self.entries, self.indptr, self.stored_shape)
        indices, indptr, places = map(np.asarray, csr_tocsc(ids, ends, shape=self.stored_shape))
        if are_narrow(self.entries):
            entries, indptr = compact_convert.narrowed(indices, indptr, rows)
        else:
            codes = np.asarray(codes)[places]
            compact_convert.check_room(codes, rows)
            entries = words_of(indices, codes, rows)
        return self._changed(by_column=WordsByColumn(jnp.asarray(entries), jnp.asarray(indptr)))

    def _as_csr(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        codes, ids, ends = in_rows(self.entries, self.indptr, self.stored_shape)
        by_entry = values_at(self.scale, rows_of(ends, self.nse)) if self.scale.ndim else self.scale
        return codes.astype(self.dtype) * by_entry, ids, ends

    def in_parts(self, parts: int) -> WordsInParts:
        """Return the words in parts of the columns, as `compact_event_arrivals` takes them.

        A part has as many words as any other, up to those of a column; where 16 bits cannot hold the columns
        of one, each is cut further. Not of the transpose, but as it is stored; with the same scale. Raise
        ValueError without any part, for a matrix that is broken, and for one that is being traced.
        """
        compact_convert.check_known(self.entries, self.indptr)
        parts_found = compact_convert.balanced(self.entries, self.indptr, self.stored_shape, parts)
        return WordsInParts(*map(jnp.asarray, parts_found))

    def tocsr(self) -> Any:
        """Return the matrix as a `CSR`, not read transposed; its weights are code * scale."""
        data, indices, indptr = self._as_csr()
        wide = indices.astype(jnp.int32)  # columns are below 2**31
        A = FORMATS["event_ops.CSR"](data, wide, indptr, shape=self.stored_shape, validate=False)
        return A.T.tocsr() if self.transposed else A

    @property
    def _has_wide_parts(self) -> bool:
        return self.indptr.ndim > 1 and not are_narrow(self.entries)

    def _times_array(self, x: jax.Array) -> jax.Array:
        if self._has_wide_parts:
            return self.tocsr()._times_array(x)
        scale, x = products.promoted(self.scale, x)
        static: dict[str, Any] = {"shape": self.stored_shape, "transpose": self.transposed}
        if x.ndim == 1:
            return compact_matvec(self.entries, self.indptr, scale, x, **static)
        return csr_matmat(*self._changed(scale=scale)._as_csr(), x, **static)

    def _times_events(self, events: Events) -> jax.Array:
        if self._has_wide_parts and (self.by_column is None or self.transposed):
            return self.tocsr()._times_events(events)
        x, encoding = events.values, events.encoding
        if x.ndim == 2:
            return products.one_by_one(self, x, encoding)
        are_numbers = encoding == "flags" and x.dtype in FLOATS
        scale, x = products.promoted(self.scale, x) if are_numbers else (self.scale, x)
        words = self.entries, self.indptr
        static: dict[str, Any] = {"shape": self.stored_shape, "encoding": encoding}
        if self.by_column is None or self.transposed:
            return compact_event_matvec(*words, scale, x, transpose=self.transposed, **static)
        one, static["shape"] = jnp.ones((), scale.dtype), self.stored_shape[::-1]
        return scale * compact_event_matvec(*self.by_column, one, x, transpose=True, **static)

    # NumPy's arrays leave both products to the two methods.
    __array_ufunc__ = None
    __array__ = arithmetic.no_array("use A.todense() for a dense array, and A @ x for np.dot(A, x)")


def compacted(A: Any, *, rtol: float = 0.0, atol: float = 0.0) -> CompactCSR:
    """Return the matrix as a `CompactCSR`, 4 bytes an entry, with weights in fixed point, or 2 without.

    Each weight w becomes a w' with `abs(w' - w) <= atol + rtol * abs(w)`; by default, w' == w. Columns
    take `(columns - 1).bit_length()` of the 32 bits of an entry, codes of weights the others. One scale
    is for all weights where the bound can be kept so, else one is for each row. If all weights are one,
    or all of each row, an entry is a column in 16 bits, within a part of at most 65,536 columns, unless
    ends of rows in so many parts and a scale for each row take more bytes than that saves. Free slots are
    left out. Words have no attributes, and those of 16 bits are in the order of their parts: synapses with
    delays are rows for each neuron and delay, as `compact_event_arrivals` takes them.

    Args:
        rtol: relative error allowed to each weight.
        atol: absolute error allowed to each weight.

    Raises:
        TypeError: weights that are integers or complex.
        ValueError: the bits that are left cannot keep the bound, and which one they can; weights that are
            not finite; one weight for all where 16 bits save nothing; columns out of range; or a matrix
            that is being traced.
    """
    entries, indptr, scale, error = compact_convert.coded(A, rtol, atol)
    B = CompactCSR(entries, indptr, scale, error, shape=A.stored_shape)
    return B.T if A.transposed else B


register_format(CompactCSR, LEAVES, "event_ops.CompactCSR")
