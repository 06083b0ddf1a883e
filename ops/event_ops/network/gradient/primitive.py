"""A run that is differentiated as primitives of JAX: forwards, its derivative, and the transpose of that.

`jax.vmap` gives all of them an axis of samples, so that a batch is one call, and the derivative in what the
samples share is summed within it: of `jax.grad` of a `jax.vmap` there is no array of weights for each sample.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

from event_ops.network.gradient import reference
from event_ops.network.gradient.call import Batch, Run
from ffi_bridge import XLACustomKernel

forward_kernel: Final = XLACustomKernel("network_forward")
forward_kernel.def_tags("network")
forward_kernel.def_reference("event_ops.network.gradient.reference:build_forward")
forward_kernel.def_numba_kernel("event_ops.network.gradient.numba_cpu:build_forward")

backward_kernel: Final = XLACustomKernel("network_backward")
backward_kernel.def_tags("network")
backward_kernel.def_reference("event_ops.network.gradient.reference:build_backward")
backward_kernel.def_numba_kernel("event_ops.network.gradient.numba_cpu:build_backward")


def _primitive(name: str, outs: Callable[..., Any], function: Callable[..., Any]) -> Primitive:
    """Return a primitive that is computed by a function of arrays and parameters."""
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(partial(xla.apply_primitive, primitive))

    def abstract(*avals: Any, **static: Any) -> list[ShapedArray]:
        return [ShapedArray(x.shape, x.dtype) for x in outs(*avals, **static)]

    primitive.def_abstract_eval(abstract)
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=True))
    return primitive


def _zeros(outs: Sequence[Any]) -> list[jax.Array]:
    """Return the results of a batch of no samples, which has no first one to plan a run by."""
    return [jnp.zeros(x.shape, x.dtype) for x in outs]


def _run_outs(*_: Any, run: Run, batch: Batch) -> list[Any]:
    return [batch.shape(x) for x in (*run.outs, *run.residuals)]


def _run(*leaves: Any, run: Run, batch: Batch) -> Any:
    outs = tuple(_run_outs(run=run, batch=batch))
    if batch.size == 0:
        return _zeros(outs)
    return forward_kernel(*leaves, outs=outs, run=run, batch=batch)


def _tangent_outs(*_: Any, run: Run, batch: Batch, **__: Any) -> list[Any]:
    return [batch.shape(run.outs[k]) for k in run.float_outs]


def _tangent(
    *inputs: Any, run: Run, batch: Batch, moved: tuple[int, ...], each: tuple[bool, ...]
) -> list[jax.Array]:
    """Return the tangents of float results, forwards: those of the scan."""
    count = len(batch.mapped)
    return reference.tangents(run, batch, inputs[:count], moved, each, inputs[len(inputs) - len(moved) :])


def _backward_outs(
    *avals: Any, run: Run, batch: Batch, wanted: tuple[int, ...], each: tuple[bool, ...]
) -> list[Any]:
    found: list[Any] = []
    for k, is_each in zip(wanted, each, strict=True):
        shape = avals[k].shape[1:] if batch.mapped[k] else avals[k].shape
        found.append(jax.ShapeDtypeStruct((batch.size, *shape) if is_each else shape, avals[k].dtype))
    return found


def _backward(*inputs: Any, run: Run, batch: Batch, wanted: tuple[int, ...], each: tuple[bool, ...]) -> Any:
    avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]
    outs = tuple(_backward_outs(*avals, run=run, batch=batch, wanted=wanted, each=each))
    if batch.size == 0:
        return _zeros(outs)
    return backward_kernel(*inputs, outs=outs, run=run, batch=batch, wanted=wanted, each=each)


_run_p: Final = _primitive("network_run_and_keep", _run_outs, _run)
_tangent_p: Final = _primitive("network_tangents", _tangent_outs, _tangent)
_backward_p: Final = _primitive("network_gradient", _backward_outs, _backward)


def differentiable_run(run: Run, leaves: Sequence[Any]) -> Any:
    """Return the results of a run, with a gradient that is one native call where the run is one."""
    batch = Batch(None, (False,) * len(leaves))
    found = _run_p.bind(*map(jnp.asarray, leaves), run=run, batch=batch)
    return jax.tree.unflatten(run.out_tree, found[: len(run.outs)])


def _run_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, run: Run, batch: Batch) -> tuple[Any, Any]:
    found = _run_p.bind(*primals, run=run, batch=batch)
    moved = tuple(
        k for k, x in enumerate(tangents) if type(x) is not ad.Zero and x.dtype != jax.dtypes.float0
    )
    dots: list[Any] = [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in found]
    if moved:
        kept, each = found[len(run.outs) :], tuple(batch.mapped[k] for k in moved)
        made = _tangent_p.bind(
            *primals, *kept, *(tangents[k] for k in moved), run=run, batch=batch, moved=moved, each=each
        )
        for k, dot in zip(run.float_outs, made, strict=True):
            dots[k] = dot
    return found, dots


def _tangent_transpose(
    cotangents: Sequence[Any],
    *inputs: Any,
    run: Run,
    batch: Batch,
    moved: tuple[int, ...],
    each: tuple[bool, ...],
) -> list[Any]:
    fixed = len(inputs) - len(moved)
    linear = [k for k in range(len(moved)) if ad.is_undefined_primal(inputs[fixed + k])]
    shapes = _tangent_outs(run=run, batch=batch)
    given = [
        jnp.zeros(like.shape, like.dtype) if type(x) is ad.Zero else x
        for x, like in zip(cotangents, shapes, strict=True)
    ]
    found = _backward_p.bind(
        *inputs[:fixed],
        *given,
        run=run,
        batch=batch,
        wanted=tuple(moved[k] for k in linear),
        each=tuple(each[k] for k in linear),
    )
    results: list[Any] = [None] * len(inputs)
    for k, x in zip(linear, found, strict=True):
        results[fixed + k] = x
    return results


def _no_jvp(*_: Any, **__: Any) -> Any:
    raise NotImplementedError(
        "the gradient of a run has no derivative of its own; for second derivatives run the scan: "
        "network.run(..., backend='reference')"
    )


def _batched(
    primitive: Primitive, args: Sequence[Any], axes: Sequence[Any], **static: Any
) -> tuple[Any, Any]:
    """Return a batch as one call, or one call after the other where samples share too little."""
    run, batch = static["run"], static["batch"]
    size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(args, axes, strict=True)]
    mapped = [axis is not None for axis in axes]
    count = len(batch.mapped)
    of_leaves = [k for k in range(count) if mapped[k]]
    rest = range(count, count + (0 if primitive is _run_p else len(run.residuals)))
    whole = batch.size is None and bool(of_leaves) and run.batchable.issuperset(of_leaves)
    if not (whole and all(mapped[k] for k in rest)):
        return _one_by_one(primitive, moved, mapped, static)
    static = static | {"batch": Batch(size, tuple(mapped[:count]))}
    if primitive is _tangent_p:
        static["each"] = tuple(mapped[len(args) - len(static["moved"]) :])
    if primitive is _backward_p:
        static["each"] = (True,) * len(static["wanted"])
        first = count + len(run.residuals)
        moved[first:] = [
            x if is_mapped else jnp.broadcast_to(x, (size, *x.shape))
            for x, is_mapped in zip(moved[first:], mapped[first:], strict=True)
        ]
    found = primitive.bind(*moved, **static)
    return found, [0] * len(found)


def _one_by_one(
    primitive: Primitive, moved: Sequence[Any], mapped: Sequence[bool], static: Any
) -> tuple[Any, Any]:
    def one(each: Sequence[Any]) -> Any:
        rest = iter(each)
        inputs = [next(rest) if is_mapped else x for x, is_mapped in zip(moved, mapped, strict=True)]
        return primitive.bind(*inputs, **static)

    found = jax.lax.map(one, [x for x, is_mapped in zip(moved, mapped, strict=True) if is_mapped])
    return found, [0] * len(found)


ad.primitive_jvps[_run_p] = _run_jvp
ad.primitive_jvps[_tangent_p] = _no_jvp
ad.primitive_jvps[_backward_p] = _no_jvp
ad.primitive_transposes[_tangent_p] = _tangent_transpose
for _each in (_run_p, _tangent_p, _backward_p):
    batching.primitive_batchers[_each] = partial(_batched, _each)
