"""The operator `expsyn_step`: checks, backends, derivatives."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_positive, check_same_dtype
from event_ops.checks.csr import check_csr, check_events, check_operand, event_weights, matrix_shape
from event_ops.checks.inputs import reshaped
from event_ops.checks.keywords import known_flags
from event_ops.checks.values import contract
from event_ops.kernels.reference.decay import decay_factor
from ffi_bridge import get_operator


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def expsyn_step(
    g: ArrayLike,
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    spikes: ArrayLike,
    *,
    shape: tuple[int, int],
    tau: ArrayLike,
    dt: ArrayLike,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`g = g * exp(-dt / tau) + A.T @ spikes`: exponential synapses decay over dt, then take what arrives.

    Rows of A are presynaptic neurons and its columns elements of g, so that the cost follows the number of
    spikes, after one pass over g, which is updated in place where it is not needed again. A neuron with
    several kinds of synapses has one element of g, and one column of A, for each: with g of shape (2, n),
    column n + j is the second of neuron j. What is active, and what it adds, is as in `csr_event_matvec`.
    Differentiable in g, data, float spikes, tau and dt; what a cotangent of NaN does is as there, too.

    Args:
        g: as many elements as A has columns, of any shape; float32 or float64; a conductance, a current or a
            drive, in the unit of data.
        data: (nse,), the weights; dtype of g. Or one weight for all entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        spikes: (rows,); bool, or the dtype of g.
        shape: (rows, columns) of A, static.
        tau: time constant in ms, > 0; broadcasts to the shape of g, as does dt: (2, 1) is one per channel.
        dt: time step in ms, > 0.
        deterministic: the same bits at every call, also on a GPU: it then costs a sort of all entries there,
            not only those of active spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        g: shape and dtype of g.

    Raises:
        TypeError: a dtype that is not taken, or that is not the one of g.
        ValueError: a shape that does not fit, or tau or dt <= 0 where their values are known when traced.

    Example:
        >>> import numpy as np
        >>> from event_ops import expsyn_step
        >>> # [[1, 0, 2], [0, 3, 0]]
        >>> A = np.float32([1, 2, 3]), np.int32([0, 2, 1]), np.int32([0, 2, 3])
        >>> g = np.zeros(3, np.float32)
        >>> expsyn_step(g, *A, np.array([True, False]), shape=(2, 3), tau=5.0, dt=0.1)
        Array([1., 0., 2.], dtype=float32)

    Source: the exact solution of dg/dt = -g / tau + sum of weight * delta(t - t_spike) over one step.
    """
    g, indices, indptr, spikes = map(as_array, (g, indices, indptr, spikes))
    check_dtype("g", g, FLOATS)
    data = event_weights(data, indices, g.dtype)
    shape = matrix_shape(shape)
    check_csr(data, indices, indptr, shape, FLOATS)
    check_same_dtype("data", data, "g", g)
    check_events("spikes", spikes, data)
    check_operand("spikes", spikes, shape, transpose=True)
    if g.size != shape[1]:
        raise ValueError(
            f"g has {g.size} elements, shape {g.shape}; expected one per column of shape={shape}"
        )
    check_positive("tau", tau)
    check_positive("dt", dt)
    decay = _per_channel(decay_factor(tau, dt, g.dtype), g.shape)
    channels = reshaped(g, (decay.shape[0], -1 if g.size else 0))
    outs = jax.ShapeDtypeStruct(channels.shape, g.dtype)
    static = {"shape": shape, **known_flags(deterministic=deterministic)}
    result = kernel(channels, data, indices, indptr, spikes, decay, outs=outs, backend=backend, **static)
    return reshaped(result, g.shape)


def _per_channel(decay: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return the factors as (channels, 1) if leading axes of g tell them apart, else as (1, elements)."""
    rank = len(shape)
    if decay.ndim <= rank:
        aligned = (1,) * (rank - decay.ndim) + decay.shape
        for axis in range(rank + 1):
            if aligned == shape[:axis] + (1,) * (rank - axis):
                return decay.reshape(math.prod(shape[:axis]), 1)
    try:
        return jnp.broadcast_to(decay, shape).reshape(1, -1)
    except ValueError:
        raise ValueError(
            f"tau and dt have shape {decay.shape}; expected one that broadcasts to the shape of g, {shape}"
        ) from None


kernel = define_operator("expsyn_step", "sparse event-driven synapse", family="arrivals", has_atomics=True)


def _arrivals(*parts: Any, outs: Any, **params: Any) -> Any:
    """Return A.T @ spikes of (data, indices, indptr, spikes), in the shape of g; linear in both."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)
    product = get_operator("csr_event_matvec")
    return product(*parts, outs=flat, transpose=True, **params).reshape(outs.shape)


kernel.def_jvp_rule2(
    lambda tangent, *primals, **_: tangent * primals[5],  # g
    lambda tangent, *primals, **params: _arrivals(tangent, *primals[2:5], **params),  # data
    None,
    None,
    lambda tangent, *primals, **params: _arrivals(*primals[1:4], tangent, **params),  # spikes
    lambda tangent, *primals, **_: primals[0] * tangent,  # decay
)
