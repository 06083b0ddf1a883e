"""The operator `csr_rewire`: checks, backends."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import as_array, check_dtype, check_same_dtype, check_shape
from event_ops.checks.csr import check_structure
from event_ops.checks.inputs import in_dtype
from event_ops.checks.keywords import known_flags
from event_ops.checks.procedural import procedural_shape, seed_word, step_word
from event_ops.checks.values import contract


@contract(indices=contracts.columns_or_padding, indptr=contracts.ends_of("indices"))
def csr_rewire(
    indices: ArrayLike,
    indptr: ArrayLike,
    rewired: ArrayLike,
    seed: ArrayLike | None = None,
    step: ArrayLike | None = None,
    *,
    shape: tuple[int, int],
    targets: ArrayLike | None = None,
    allow_autapses: bool = True,
    allow_multapses: bool = True,
    backend: str | None = None,
) -> jax.Array:
    """`indices[k] = targets[k]`, or a random column, for every k with `rewired[k]`: synapses that move.

    A row of a CSR matrix has as many slots as indptr gives it, so that shapes stay. A slot whose index is no
    column is free: products and rules pass it over. Rewiring takes a flagged slot from the column that it
    had, if any, and gives it another: a free slot becomes a synapse, and a synapse moves. Without autapses
    and multapses, a column that is not allowed is drawn again, up to 256 times; a slot for which none is
    found, or whose target is not allowed, has the index `columns` afterwards, and is free. All flagged slots
    of a row are emptied first, and then filled one after the other.

    Every column that is allowed is as likely as any other, to within 2**-32. What slot k draws follows from
    seed, step, k and, where columns are not allowed, its row: it is the same on every backend, for any number
    of threads. Another step, or another seed, gives independent columns. Weights stay in their slots:
    `jnp.where(rewired, new, data)` sets those of new synapses. The transpose's structure is another
    afterwards: `csr_tocsc` makes it anew. No derivative: the output is integers.

    Args:
        indices: (nse,), the column of each synapse; int32, int64 or unsigned. Updated in place where it is
            not needed again.
        indptr: (rows + 1,), non-decreasing: row i is the slots from indptr[i] up to indptr[i + 1].
        rewired: (nse,), bool.
        seed: 0-d or a Python int in [0, 2**32); any integer dtype, taken modulo 2**32; may be traced.
        step: 0-d or a Python int, the number of the call; any integer dtype, taken modulo 2**32; may be
            traced.
        shape: (rows, columns), static, each below 2**31 - 4096.
        targets: (nse,), columns, dtype of indices: instead of random ones, and of seed and step. One that is
            no column makes its slot free.
        allow_autapses: static; whether slot k may have its own row as column.
        allow_multapses: static; whether a row may have two slots with one column. Those that are not flagged
            stay, whatever they have.
        backend: run on this one or not at all; default: choose.

    Returns:
        indices: (nse,); dtype of indices.

    Raises:
        TypeError: a dtype that is not taken; neither seed and step nor targets, or both.
        ValueError: a shape that does not fit.

    Example:
        >>> import numpy as np
        >>> from event_ops import csr_rewire
        >>> structure = np.int32([0, 2, 1]), np.int32([0, 2, 3])  # the last column of row 1 is to become 2
        >>> csr_rewire(*structure, np.array([False, False, True]), targets=np.int32([2, 2, 2]), shape=(2, 3))
        Array([0, 2, 2], dtype=int32)

    Source: Philox2x32-10 of Salmon et al., SC 2011; the words of autapses and multapses are NEST's.
    """
    indices, indptr, rewired = map(as_array, (indices, indptr, rewired))
    shape = procedural_shape(shape)
    check_structure(indices, indptr, shape)
    check_dtype("rewired", rewired, ("bool",))
    check_shape("rewired", rewired, indices.shape, why="one flag per slot, as many as indices")
    words, new_columns = _chosen(seed, step, targets, indices)
    allowed = known_flags(allow_autapses=allow_autapses, allow_multapses=allow_multapses)
    static = {name.removeprefix("allow_"): flag for name, flag in allowed.items()}
    outs = jax.ShapeDtypeStruct(indices.shape, indices.dtype)
    columns = in_dtype(shape[1], np.uint32)
    return kernel(
        indices, indptr, rewired, *words, columns, new_columns, outs=outs, backend=backend, **static
    )


def _chosen(seed: Any, step: Any, targets: Any, indices: jax.Array) -> tuple[Any, Any]:
    """Return the words that columns are drawn with, and the targets: none where columns are drawn."""
    missing = [name for name, x in (("seed", seed), ("step", step)) if x is None]
    if targets is None and not missing:
        words = seed_word(seed), step_word(step, "the number of one call")
        return words, np.zeros(0, indices.dtype)
    if targets is None or len(missing) < 2:
        has = f"no {' and no '.join(missing)}" if targets is None else "targets and a seed or a step"
        raise TypeError(f"csr_rewire is given {has}; expected seed and step, to draw columns, or targets")
    targets = as_array(targets)
    check_same_dtype("targets", targets, "indices", indices)
    check_shape("targets", targets, indices.shape, why="one column per slot, as many as indices")
    return (np.zeros((), np.uint32),) * 2, targets


kernel = define_operator("csr_rewire", "sparse structure plasticity", family="row_changes")
