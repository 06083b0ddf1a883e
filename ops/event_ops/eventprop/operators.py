"""The operators of a batch forwards and backwards, and how JAX differentiates and batches them.

Inputs of a run: weights, delays and parameters of neurons, indices and indptr of sparse weights, which are
empty of dense ones; times, ids and states of samples, whose first axis is the batch; constants. The tangent
of a run is an operator that is only ever transposed: its transpose is the run backwards. So a gradient after
`vmap` is one call, in which derivatives in weights are summed over the batch, and `vmap` of a gradient has
those of each sample.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ffi_bridge import XLACustomKernel

_REVERSE_ONLY: Final = (
    "event_ops.eventprop has first derivatives in reverse mode: use jax.grad, jax.vjp or jax.jacrev; forward "
    "mode, as in jax.jvp and jax.jacfwd, and second derivatives are not there"
)
_SAMPLES: Final = 3  # times, ids and states
_RESULTS: Final = 3  # spikes, ids and ends, which a run backwards reads


def _operator(name: str, room: str) -> XLACustomKernel:
    kernel = XLACustomKernel(f"eventprop_{name}")
    kernel.def_tags("eventprop", "neuron")
    kernel.def_reference(f"{room}.reference:build_{name.split('_')[-1]}")
    kernel.def_numba_kernel(f"{room}.numba_cpu:build_{name.split('_')[-1]}")
    return kernel


def _refuse_second(primals: Any, tangents: Any, **_: Any) -> NoReturn:
    raise NotImplementedError(_REVERSE_ONLY)


def _linear(count: int) -> list[int]:
    """Return the positions of the five inputs that have derivatives, in the order of the inputs."""
    return [0, 1, 2, count - 1 - _SAMPLES, count - 2]


def _like(*arrays: Any) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays)


def _family(kind: str, room: str) -> XLACustomKernel:
    """Return the operator forwards of a kind of neurons, whose derivative is a run backwards.

    kind: in front of the names of its operators; room: where its backends are.
    """
    forward, backward = (_operator(f"{kind}{way}", room) for way in ("forward", "backward"))
    tangent = XLACustomKernel(f"eventprop_{kind}tangent")

    @tangent.def_reference
    def refuse(**_: Any) -> NoReturn:
        """Raise, since tangents are only transposed."""
        raise NotImplementedError(_REVERSE_ONLY)

    tangent.def_jvp_rule(_refuse_second)
    backward.def_jvp_rule(_refuse_second)

    @forward.def_jvp_rule
    def moved(primals: Any, tangents: Any, *, outs: Any, backend: Any, ndim: int, neuron: Any = None) -> Any:
        """Return the results, and the tangents of times of spikes and of potentials."""
        static: Any = {"ndim": ndim, "neuron": neuron}
        spikes, ids, ends, trace = forward(*primals, outs=outs, backend=backend, **static)
        dots = [ad.instantiate_zeros(tangents[i]) for i in _linear(len(primals))]
        like = _like(spikes, trace)
        of_spikes, of_trace = tangent(*dots, *primals, spikes, ids, ends, outs=like, wanted=backend, **static)
        return (spikes, ids, ends, trace), (of_spikes, None, None, of_trace)

    @tangent.def_transpose_rule
    def transposed(cotangents: Any, *args: Any, wanted: Any, ndim: int, neuron: Any, **_: Any) -> Any:
        """Return the derivatives in weights, delays, parameters, times and states, by the run backwards."""
        dots, rest = args[:5], args[5:]
        primals = rest[:-_RESULTS]
        places = _linear(len(primals))
        weights, delays, parameters, times, states = (primals[i] for i in places)
        # What samples share has a first axis of groups of samples, over each of which it is summed.
        like = *_like(weights[None], delays[None], parameters[None]), *_like(times, states)
        # A product of rows for each input spike, which training of weights alone does without; entries have
        # none.
        of_inputs = ndim == 1 or ad.is_undefined_primal(dots[1]) or ad.is_undefined_primal(dots[3])
        static = {"ndim": ndim, "neuron": neuron, "of_inputs": of_inputs}
        found = backward(*rest, *cotangents, outs=like, backend=wanted, **static)
        gradients = *(x[0] for x in found[:3]), *found[3:]
        chosen = [x if ad.is_undefined_primal(dot) else None for x, dot in zip(gradients, dots, strict=True)]
        return [*chosen, *(None for _ in rest)]

    forward.def_batching_rule(_folding(forward, lambda n: range(n - 1 - _SAMPLES, n - 1)))
    # Behind constants: spikes, ids, ends and two cotangents.
    backward.def_batching_rule(_folding(backward, lambda n: [*range(n - 9, n - 6), *range(n - 5, n)]))
    # In front: five tangents; behind constants: spikes, ids and ends.
    tangent.def_batching_rule(_folding(tangent, lambda n: [3, 4, *range(n - 7, n - 4), *range(n - 3, n)]))
    return forward


def _folding(kernel: XLACustomKernel, samples: Callable[[int], Sequence[int]]) -> Callable[..., Any]:
    """Return the batching rule that joins an axis with the batch of samples.

    `samples(count)`: positions of the inputs that have a batch.
    """

    def rule(args: tuple[Any, ...], axes: tuple[Any, ...], *, outs: Any, **params: Any) -> Any:
        places = samples(len(args))
        if any(axis is not None for i, axis in enumerate(axes) if i not in places):
            return NotImplemented  # each member has weights of its own
        size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
        inputs = list(args)
        for i in places:
            x, axis = args[i], axes[i]
            whole = jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
            inputs[i] = whole.reshape(size * whole.shape[1], *whole.shape[2:])
        wide = tuple(jax.ShapeDtypeStruct((size * x.shape[0], *x.shape[1:]), x.dtype) for x in outs)
        results = kernel(*inputs, outs=wide, **params)
        return tuple(x.reshape(size, *like.shape) for x, like in zip(results, outs, strict=True)), 0

    return rule


forward: Final = _family("", "event_ops.eventprop")
of_models: Final = _family("model_", "event_ops.eventprop.models")
