"""Check the arguments of products with CSR and ELLPACK matrices: structure, operand, events, weights."""

from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.experimental import checkify

from event_ops.checks.arrays import (
    ENABLE_X64,
    FLOATS,
    INDICES,
    INTEGERS,
    as_array,
    check_dtype,
    check_factor_dtype,
    check_rank,
    check_shape,
    is_known,
    reaches,
)
from event_ops.checks.inputs import as_input, in_dtype
from event_ops.checks.keywords import known_integer

_ENCODINGS = {"flags": ("bool", *FLOATS), "counts": INTEGERS, "ids": ("int32",), "bits": ("uint32",)}
_MAKERS = {
    "counts": "integers, the number of spikes of each neuron",
    "ids": "int32, as spike_compact(flags)[0] returns",
    "bits": "uint32, as pack_events(flags) returns",
}

# What to do about values that are out of range: for callers with and without the option validate=False.
KEEP = "correct it, or keep it with validate=False: the operators skip what is out of range"
MEND = "correct it"


def matrix_shape(shape: Any) -> tuple[int, int]:
    """Return `shape` as two Python integers, or symbolic sizes of `jax.export`."""
    try:
        rows, columns = map(_size, shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"shape is {shape!r}; expected two integers, (rows, columns), known when the call is traced"
        ) from None
    if rows < 0 or columns < 0:
        raise ValueError(f"shape is {shape!r}; expected sizes >= 0")
    return rows, columns


def _size(extent: Any) -> int:
    # JAX treats a symbolic size as an integer that is not known yet.
    return cast(int, extent) if export.is_symbolic_dim(extent) else known_integer("size", extent)


def check_csr(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, shape: tuple[int, int], dtypes: Sequence[str]
) -> None:
    """Raise unless the three arrays can be a CSR matrix of `shape`, as far as shapes and dtypes tell.

    A 0-d `data` passes: the caller decides whether one weight may stand for all.
    """
    check_dtype("data", data, dtypes)
    check_structure(indices, indptr, shape)
    check_weight_count(data, indices)


def check_ell(data: jax.Array, indices: jax.Array, shape: tuple[int, int], dtypes: Sequence[str]) -> None:
    """Raise unless the two arrays can be an ELLPACK matrix of `shape`, as far as shapes and dtypes tell.

    A 0-d `data` passes: the caller decides whether one weight may stand for all.
    """
    check_dtype("data", data, dtypes)
    check_dtype("indices", indices, INDICES)
    check_rank("indices", indices, 2, "(rows, entries per row)")
    why = f"one row per row of shape={shape}; rows with fewer entries are padded with an index out of range"
    check_shape("indices", indices, (shape[0], indices.shape[1]), why=why)
    check_weight_count(data, indices)


def check_weight_count(data: jax.Array, indices: jax.Array) -> None:
    """Raise ValueError unless `data` has one weight for each of the indices, or is 0-d."""
    if data.ndim:
        check_shape("data", data, indices.shape, why="one weight per entry, as many as indices")


def check_structure(indices: jax.Array, indptr: jax.Array, shape: tuple[int, int]) -> None:
    """Raise unless the two arrays can be the structure of a CSR matrix of `shape`."""
    check_flat(indices=indices, indptr=indptr)
    rows = shape[0]
    why = f"one more than the {rows} rows of shape={shape}"
    if indptr.shape[0] == shape[1] + 1 != rows + 1:
        why += "; it fits shape reversed: is the matrix CSC, or shape transposed?"
    check_shape("indptr", indptr, (rows + 1,), why=why)


def check_transpose(
    rows: jax.Array, indptr: jax.Array, permutation: jax.Array, shape: tuple[int, int]
) -> None:
    """Raise unless the three arrays can be the transpose's structure of a CSR matrix of `shape`."""
    check_flat(rows=rows, indptr=indptr, permutation=permutation)
    check_shape("permutation", permutation, rows.shape, why="one place in w per entry, as many as rows")
    why = f"one more than the {shape[1]} columns of shape={shape}"
    if indptr.shape == (shape[0] + 1,) != (shape[1] + 1,):
        why += "; it fits the rows: is it the indptr of the matrix, not of its transpose?"
    check_shape("indptr", indptr, (shape[1] + 1,), why=why)


def check_flat(**arrays: jax.Array) -> None:
    """Raise unless the arrays have the dtypes and the rank of a structure."""
    for name, x in arrays.items():
        check_dtype(name, x, INDICES)
        check_rank(name, x, 1, "structure arrays are flat")


def check_operand(name: str, x: jax.Array, shape: tuple[int, int], transpose: bool, *, rank: int = 1) -> None:
    """Raise ValueError unless `x` is a vector, or with rank=2 a matrix, that A (or A.T) can multiply."""
    size, axis = (shape[0], "row") if transpose else (shape[1], "column")
    if x.ndim == rank and x.shape[:1] == (size,):
        return  # before texts are made, which take longer
    other = shape[1] if transpose else shape[0]
    why = f"one {'element' if rank == 1 else 'row'} per {axis} of shape={shape} with transpose={transpose}"
    if rank > 1:
        check_rank(name, x, rank, f"({size}, n), {why}; for a vector, call the matvec operator")
    if x.shape[:1] == (other,) != (size,) and x.ndim == rank:
        why += f"; it fits transpose={not transpose}"
    check_shape(name, x, (size, *x.shape[1:rank]), why=why)


def check_events(name: str, events: jax.Array, data: jax.Array, data_name: str = "data") -> None:
    """Raise TypeError unless `events` is bool or has the dtype of sums of the weights."""
    check_dtype(name, events, ("bool", *FLOATS))
    if events.dtype != bool:
        check_factor_dtype(name, events, data_name, data)


def check_encoded(name: str, events: jax.Array, encoding: str) -> None:
    """Raise ValueError for an unknown encoding, TypeError unless `events` has a dtype of the encoding."""
    if encoding not in _ENCODINGS:
        raise ValueError(f"encoding is {encoding!r}; expected 'flags', 'counts', 'ids' or 'bits'")
    integers = jnp.issubdtype(events.dtype, jnp.integer)
    if encoding == "flags":
        otherwise = "; or say what they are: encoding='counts', encoding='ids' or encoding='bits'"
        otherwise = otherwise if integers else ""
        check_dtype(name, events, _ENCODINGS[encoding], otherwise=otherwise)
    elif integers:
        check_dtype(name, events, _ENCODINGS[encoding])
    else:
        # Cast to integers, flags would be taken for the ids or words 0 and 1.
        raise TypeError(
            f"{name} has dtype {events.dtype}; expected {_MAKERS[encoding]}; or say what they are: "
            "encoding='flags'"
        )


def check_event_vector(
    name: str,
    events: jax.Array,
    data: jax.Array,
    shape: tuple[int, int],
    transpose: bool,
    encoding: str,
    data_name: str = "data",
) -> None:
    """Raise unless `events` has one element per row (or column), or is a vector of spike ids, or of bits."""
    size = shape[0 if transpose else 1]
    check_encoded(name, events, encoding)
    if encoding == "ids":
        check_rank(name, events, 1, "spike ids, as spike_compact returns them")
    elif encoding == "bits":
        why = f"bits, as pack_events returns them, here for {size} events"
        check_shape(name, events, (-(-size // 32),), why=why)
    else:
        check_operand(name, events, shape, transpose)
        if encoding == "flags":
            check_events(name, events, data, data_name)


def readable(events: jax.Array, encoding: str, dtype: Any) -> jax.Array:
    """Return events as kernels read them: counts of 32 bits or more as numbers in the dtype of the weights.

    Kernels tell encodings from each other by dtype, and take 32 bits for ids or words.
    """
    return events.astype(dtype) if encoding == "counts" and events.dtype.itemsize > 2 else events


def event_weights(data: Any, indices: jax.Array, dtype: Any) -> jax.Array:
    """Return `data` as an array: numbers in `dtype`, one weight for all entries as 0-d; no weak type."""
    if isinstance(data, (int, float)):
        return in_dtype(data, dtype)
    weights = as_input(data)
    # What has the type of a number of Python would give way to an operand of 16 bits.
    weights = weights.astype(weights.dtype) if getattr(weights, "weak_type", False) else weights
    return weights.reshape(()) if weights.shape == (1,) != indices.shape else weights


def places_of(permutation: Any, data: jax.Array, indices: jax.Array) -> tuple[jax.Array, ...]:
    """Return the permutation that finds the weight of each entry, in a tuple; none if no weight needs it."""
    if permutation is None:
        return ()
    places = as_array(permutation)
    check_dtype("permutation", places, INDICES)
    check_shape("permutation", places, indices.shape, why="a place in data per entry, as many as indices")
    return (places,) if data.ndim else ()


def check_numbers(name: str, x: jax.Array, sizes: Sequence[Any], counted: str) -> None:
    """Raise ValueError unless the dtype of x has each of the sizes; the error ends with `counted`."""
    if any(reaches(size, np.iinfo(x.dtype).max + 1) for size in sizes):
        enabled = jax.dtypes.canonicalize_dtype(np.int64) == np.int64
        cast = f"cast it: {name}.astype('int64')"
        hint = cast if enabled else f"{ENABLE_X64}; then {cast}"
        raise ValueError(f"{name} has dtype {x.dtype}, too small to number {counted}; {hint}")


def check_indptr(indptr: Any, nse: int, hint: str, *, whole: bool = True) -> None:
    """Raise ValueError unless indptr, where it is known, rises from 0 to nse, or within that if not `whole`.

    The error ends with `hint`.
    """
    if not is_known(indptr):
        return
    ends = np.asarray(indptr)
    falls = np.flatnonzero(ends[1:] < ends[:-1])
    if falls.size:
        i = falls[0]
        raise ValueError(
            f"indptr falls from {ends[i]} to {ends[i + 1]} at row {i}; expected it not to decrease; {hint}"
        )
    spanned = ends[0] >= 0 and ends[-1] <= nse
    if not spanned or (whole and (ends[0] != 0 or ends[-1] != nse)):
        raise ValueError(
            f"indptr spans {ends[0]} to {ends[-1]}; expected 0 to {nse}, the number of indices; {hint}"
        )


def checkify_copy(copy: jax.Array, data: jax.Array, permutation: jax.Array) -> None:
    """Check by `checkify.check` that the plan's copy of the weights is `data[permutation]`."""
    differ = copy != data[permutation]
    if jnp.issubdtype(data.dtype, jnp.inexact):
        differ &= ~(jnp.isnan(copy) & jnp.isnan(data[permutation]))
    checkify.check(
        ~jnp.any(differ),
        f"{{}} of {data.shape[0]} planned weights differ from data; change weights with with_data",
        jnp.sum(differ),
    )
