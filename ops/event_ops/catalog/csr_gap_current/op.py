"""The operator `csr_gap_current`: checks, backends, derivatives."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, as_array, check_same_dtype, check_shape
from event_ops.checks.csr import check_csr, event_weights, matrix_shape
from event_ops.checks.values import contract
from event_ops.rules.linear_inputs import of_one_weight
from ffi_bridge import get_operator


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def csr_gap_current(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    v: ArrayLike,
    *,
    shape: tuple[int, int],
    backend: str | None = None,
) -> jax.Array:
    """`y[i] += data[k] * (v[indices[k]] - v[i])` for each entry k of row i: currents through gap junctions.

    A positive current depolarizes: add it to `I_e`. Row i of the CSR matrix is the junctions of neuron i, so
    that a junction is two entries, (i, j) and (j, i), of one weight where it conducts both ways alike. The
    differences are taken before they are summed up, and so keep their digits where the potentials are close
    to each other, which `A @ v - A.sum(1) * v` does not. An entry whose column is not in [0, n) contributes
    nothing; neither does one that no row holds. Differentiable in data and v.

    The step of a neuron takes the current as constant, so that v of the step's beginning acts during it: an
    error of first order in dt * data / C_m, which is to be small against 1 in every row's sum.

    Args:
        data: (nse,), the conductances, in nS for a current in pA and v in mV; float32 or float64. Or one for
            all entries: 0-d, (1,) or a number, of which no copies are made.
        indices: (nse,), the neuron at the other end of each junction; int32, int64 or unsigned.
        indptr: (n + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        v: (n,), membrane potentials; dtype of data.
        shape: (n, n), static.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (n,); dtype of data.

    Raises:
        TypeError: a dtype that is not taken, or data and v of different ones.
        ValueError: a shape that is not square, or that does not fit `shape`.

    Example:
        >>> import numpy as np
        >>> from event_ops import csr_gap_current
        >>> # one junction of 2 nS between neurons 0 and 2
        >>> indices, indptr = np.int32([2, 0]), np.int32([0, 1, 1, 2])
        >>> csr_gap_current(2.0, indices, indptr, np.float32([-60, -65, -50]), shape=(3, 3))
        Array([ 20.,   0., -20.], dtype=float32)

    Source: Hahne et al. (2015), Front. Neuroinform. 9:22; NEST's ``gap_junction``, which iterates
        over the course of v within a step (waveform relaxation) where this takes its beginning.
    """
    indices, indptr, v = map(as_array, (indices, indptr, v))
    data = event_weights(data, indices, v.dtype)
    shape = matrix_shape(shape)
    if shape[0] != shape[1]:
        raise ValueError(
            f"shape is {shape}; expected (n, n): junctions are between neurons of one population"
        )
    check_csr(data, indices, indptr, shape, FLOATS)
    check_shape("v", v, shape[:1], why=f"one potential per neuron of shape={shape}")
    check_same_dtype("v", v, "data", data)
    outs = jax.ShapeDtypeStruct(v.shape, data.dtype)
    return kernel(data, indices, indptr, v, outs=outs, shape=shape, backend=backend)


kernel = define_operator("csr_gap_current", "sparse synapse float", family="csr_products", linear=(0, 3))


@kernel.def_transpose_rule
def _transpose(
    ct: Any, data: Any, indices: Any, indptr: Any, v: Any, *, outs: Any, shape: Any, backend: Any
) -> list[Any]:
    """Send currents back: a junction of row i takes with v[i], and gives with v at its column."""
    structure, params = (indices, indptr), {"shape": shape, "backend": backend}
    if ad.is_undefined_primal(v):
        product = functools.partial(get_operator("csr_matvec"), outs=outs, deterministic=False, **params)
        out = product(data, *structure, jnp.ones_like(ct), transpose=False)
        return [None, None, None, product(data, *structure, ct, transpose=True) - out * ct]
    if data.aval.ndim == 0:
        sums = kernel(jnp.ones((), ct.dtype), *structure, v, outs=outs, **params)
        return [of_one_weight(ct, sums), None, None, None]
    # Of potentials relative to their mean, so that the difference of two products keeps its digits.
    finite = jnp.isfinite(v)
    beside = v - jnp.sum(v, where=finite) / jnp.maximum(jnp.sum(finite), 1).astype(v.dtype)
    by_row, by_column = (jnp.stack(x, axis=1) for x in ((ct, -ct * beside), (beside, jnp.ones_like(v))))
    back = jax.ShapeDtypeStruct(data.aval.shape, data.aval.dtype)
    return [get_operator("csr_sddmm")(*structure, by_row, by_column, outs=back, **params), None, None, None]
