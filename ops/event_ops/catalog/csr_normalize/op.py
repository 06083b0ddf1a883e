"""The operator `csr_normalize`: checks, backends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_same_dtype, check_shape
from event_ops.checks.csr import check_numbers, check_structure, matrix_shape, places_of
from event_ops.checks.keywords import known_flags
from event_ops.checks.values import contract


@contract(
    indices=contracts.columns_or_padding,
    indptr=contracts.ends_of("indices"),
    permutation=contracts.permutation_of("data"),
)
def csr_normalize(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    target: ArrayLike,
    active: ArrayLike | None = None,
    *,
    shape: tuple[int, int],
    permutation: ArrayLike | None = None,
    subtractive: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`data[k] *= target[i] / sum(abs(data[k]) of row i)` for all entries k of every row i that is active.

    Holds the weight of a neuron in all: its outgoing weight where rows are presynaptic; its incoming weight
    by the structure of the transpose, as `csr_tocsc` gives it. A row whose weights are all 0 stays as it is.
    With subtractive=True what is too much or missing is shared equally, `data[k] += (target[i] - sum(data[k]
    of row i)) / n[i]` for n[i] entries, which may change signs: bound weights afterwards, by `jnp.clip`.
    The cost follows the number of active rows, and data are updated in place where they are not needed again.
    Rows that are not active stay as they are, bit for bit, as do entries whose column is out of range: free
    slots. A row is summed by one thread, or by one warp of a GPU, in one order, so that the result is the
    same for any number of threads. Differentiable in data and target; a row that is not active hides what is
    NaN or infinite in it.

    Args:
        data: (nse,), the weights; float32 or float64.
        indices: (nse,), the column of each entry; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        target: (rows,), 0-d or a number, what the magnitudes of a row, or with subtractive=True its weights,
            add up to; dtype of data.
        active: (rows,), bool: rows whose weights have changed. Default: all.
        shape: (rows, columns) of this structure, static; of the transpose, if it is that.
        permutation: (nse,), where in data the weight of each entry is: each place once; an integer dtype.
            Default: in the order of the entries.
        subtractive: static; subtract, do not multiply.
        backend: run on this one or not at all; default: choose.

    Returns:
        data: (nse,); dtype of data.

    Raises:
        TypeError: a dtype that is not taken, or that is not the one of data.
        ValueError: a shape that does not fit.

    Example:
        >>> import numpy as np
        >>> from event_ops import csr_normalize
        >>> csr_normalize(np.float32([1, 3, 5]), np.int32([0, 2, 1]), np.int32([0, 2, 3]), 1.0, shape=(2, 3))
        Array([0.25, 0.75, 1.  ], dtype=float32)

    Source: Miller and MacKay (1994), Neural Computation 6, 100-126: multiplicative and subtractive
    constraints.
    """
    data, indices, indptr = map(as_array, (data, indices, indptr))
    shape = matrix_shape(shape)
    check_dtype("data", data, FLOATS)
    check_structure(indices, indptr, shape)
    check_shape("data", data, indices.shape, why="one weight per entry, as many as indices")
    sums = jnp.asarray(target, data.dtype) if isinstance(target, int | float) else as_array(target)
    why = f"one for all rows, or one per row of shape={shape}"
    check_same_dtype("target", sums, "data", data)
    check_shape("target", sums, (), shape[:1], why=why)
    flags = jnp.ones(shape[0], bool) if active is None else as_array(active)
    check_dtype("active", flags, ("bool",))
    check_shape("active", flags, shape[:1], why=f"one flag per row of shape={shape}")
    check_numbers("indices", indices, shape[1:], f"the columns of shape={shape}")
    limit = np.asarray(shape[1], indices.dtype)
    places = places_of(permutation, data, indices)
    outs, static = jax.ShapeDtypeStruct(data.shape, data.dtype), known_flags(subtractive=subtractive)
    return kernel(data, indices, indptr, sums, flags, limit, *places, outs=outs, backend=backend, **static)


kernel = define_operator("csr_normalize", "sparse event-driven plasticity", family="row_changes")
