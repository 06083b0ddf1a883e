"""Products of ELLPACK matrices: an ELLPACK operator where there is one, else that of the same entries as CSR.

As CSR, their row pointers are `arange(rows + 1) * per_row`, and data and indices are as they lie in memory:
in a compiled program the change of format costs nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from event_ops.catalog.csr_event_matmat.op import kernel as csr_event_matmat
from event_ops.catalog.csr_event_matvec.op import kernel as csr_event_matvec
from event_ops.catalog.csr_matmat.op import kernel as csr_matmat
from event_ops.catalog.csr_todense.op import todense
from event_ops.catalog.ell_event_matvec.op import ell_event_matvec
from event_ops.catalog.ell_matvec.op import ell_matvec
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOAT_WEIGHTS, check_dtype, summed_in
from event_ops.checks.csr import check_event_vector, check_events, readable
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.sparse.events import Events


def product(
    data: jax.Array, indices: jax.Array, x: jax.Array, shape: tuple[int, int], transpose: bool
) -> jax.Array:
    """Return A @ x or A.T @ x for a vector or a matrix x of the dtype of `data`, (rows, per_row)."""
    if x.ndim == 1:
        return ell_matvec(data, indices, x, shape=shape, transpose=transpose)
    return ell_product(csr_matmat, data, indices, x, shape=shape, transpose=transpose)


def event_product(
    data: jax.Array, indices: jax.Array, events: Events, shape: tuple[int, int], transpose: bool
) -> jax.Array:
    """Return A @ events or A.T @ events for a vector of events in any encoding, or a matrix of them."""
    x = events.values
    static: dict[str, Any] = {"shape": shape, "transpose": transpose}
    if x.ndim == 1 and events.encoding == "flags":
        return ell_event_matvec(data, indices, x, **static)
    check_dtype("data", data, FLOAT_WEIGHTS)
    if x.ndim == 1:
        check_event_vector("events", x, data, shape, transpose, events.encoding)
        x = readable(x, events.encoding, summed_in(data))
        return ell_product(csr_event_matvec, data, indices, x, **static)
    check_events("events", x, data)
    return ell_product(csr_event_matmat, data, indices, x, **static)


@contract(indices=contracts.columns_or_padding)
def ell_todense(data: jax.Array, indices: jax.Array, *, shape: tuple[int, int]) -> jax.Array:
    """Return the matrix as a dense array."""
    return todense(*ell_as_csr(data, indices), shape=shape, deterministic=False)


# Compiled, so that a call outside of other programs has no copy of the entries made either.
@contract(indices=contracts.columns_or_padding)
@partial(jax.jit, static_argnums=0, static_argnames=("shape", "transpose"), inline=True)
def ell_product(
    kernel: Any, data: jax.Array, indices: jax.Array, x: jax.Array, *, shape: Any, transpose: bool
) -> jax.Array:
    """Return the product of a CSR operator that takes no notice of entries out of range."""
    size = shape[1] if transpose else shape[0]
    outs = jax.ShapeDtypeStruct((size, *x.shape[1:]), summed_in(data))
    static = {"shape": shape, "transpose": transpose, "deterministic": False}
    return kernel(*ell_as_csr(data, indices), x, outs=outs, **static)
