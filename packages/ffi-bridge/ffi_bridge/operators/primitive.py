"""The JAX primitive behind an operator: evaluation, types, lowering, differentiation, batching."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

from ffi_bridge.errors import RuleError
from ffi_bridge.native.tracing import Levels, add_level, check_whole, output_type, refused_in, sizes_of
from ffi_bridge.operators.backends import PLATFORMS, listing
from ffi_bridge.operators.call import Call, concrete
from ffi_bridge.operators.jvp import jvp
from ffi_bridge.operators.rules import Flat, Operator, transpose

_WIDE = ("float64", "complex128", "int64", "uint64")
_Places = tuple[tuple[int, ...], ...]  # of numbers among the inputs, for each dtype


def make_primitive(operator: Operator) -> Primitive:
    """Return a primitive with parameters `call` and `batch`, and one lowering per platform."""
    primitive = Primitive(operator.name)
    primitive.multiple_results = True
    primitive.def_impl(partial(xla.apply_primitive, primitive))  # compiled, under jax.disable_jit too
    primitive.def_abstract_eval(partial(_abstract, operator))
    ad.primitive_jvps[primitive] = partial(jvp, operator)
    ad.primitive_transposes[primitive] = partial(transpose, operator)
    batching.primitive_batchers[primitive] = partial(_batch, operator, primitive)
    for names in PLATFORMS.values():
        for device in names:
            # A rule for each, since none is told which platform it lowers for.
            rule = partial(_lower, operator, device)
            mlir.register_lowering(primitive, rule, platform=device)
    return primitive


def make_eager(primitive: Primitive, call: Call) -> Callable[..., Any]:
    """Return the unbatched primitive under `jax.jit`, its outputs in the structure of `outs`.

    NumPy's numbers are handed to the program together, one array for each dtype: JAX would send them one by
    one, each in a third of the time of a call.
    """

    def bound(*ins: Any) -> Any:
        return call.outs.restore(primitive.bind(*ins, call=call, batch=()))

    def of_vectors(places: _Places, arrays: Sequence[Any], vectors: Sequence[Any]) -> Any:
        numbers = {
            place: jax.lax.index_in_dim(vector, i, keepdims=False)
            for among, vector in zip(places, vectors, strict=True)
            for i, place in enumerate(among)
        }
        rest, count = iter(arrays), len(numbers) + len(arrays)
        return bound(*(numbers[i] if i in numbers else next(rest) for i in range(count)))

    bound.__name__ = bound.__qualname__ = of_vectors.__name__ = of_vectors.__qualname__ = primitive.name
    # Inlined, so that a call on constants inside another jitted function leaves just the primitive.
    one_by_one = jax.jit(bound, inline=True)
    together = jax.jit(of_vectors, static_argnums=0, inline=True)

    def eager(*ins: Any) -> Any:
        by_dtype: dict[Any, list[int]] = {}
        for i, x in enumerate(ins):
            if isinstance(x, (np.ndarray, np.generic)) and not x.ndim and x.dtype.kind in "biufc":
                by_dtype.setdefault(x.dtype, []).append(i)
        if not any(len(among) > 1 for among in by_dtype.values()):
            return one_by_one(*ins)
        places = tuple(map(tuple, by_dtype.values()))
        vectors = [np.array([ins[i] for i in among]) for among in places]
        numbers = {i for among in places for i in among}
        return together(places, [x for i, x in enumerate(ins) if i not in numbers], vectors)

    return eager


def _abstract(operator: Operator, *ins: Any, call: Call, batch: Levels) -> Flat:
    check_whole(operator.name, ins)
    return [output_type(sizes_of(batch) + out.shape, out.dtype, ins) for out in call.outs.flat]


def _lower(operator: Operator, device: str, ctx: Any, *ins: Any, call: Call, batch: Levels) -> Sequence[Any]:
    backend = operator.chosen(device, call, ctx.avals_in, ctx.avals_out)
    is_wide = any(x.dtype.name in _WIDE for x in (*ctx.avals_in, *ctx.avals_out))
    # A backend that adds up in 64 bits where they are off may call other operators, which are lowered later.
    with jax.enable_x64(True) if is_wide else nullcontext():
        try:
            function = concrete(backend, call)
        except Exception as error:
            error.add_note(
                f"Raised as operator {operator.name!r} had its backend {backend.name!r} built for "
                f"{backend.platform}; there are: {listing(operator.backends)}; backend=NAME in the call "
                "takes another."
            )
            raise
        # The innermost level first: the outermost `vmap` is the last around it.
        for level in reversed(batch):
            function = jax.vmap(function, in_axes=level.axes, axis_size=level.size)
        with refused_in(f"operator {operator.name!r}: its backend {backend.name!r}"):
            return mlir.lower_fun(function, multiple_results=True)(ctx, *ins)


def _batch(
    operator: Operator,
    primitive: Primitive,
    ins: Flat,
    axes: Sequence[int | None],
    *,
    call: Call,
    batch: Levels,
) -> tuple[Flat, Sequence[int | None]]:
    if operator.rules.batching is not None and not batch:
        declared = operator.rules.batching(tuple(ins), tuple(axes), **call.for_rule())
        if declared is not NotImplemented:
            size = next(x.shape[axis] for x, axis in zip(ins, axes, strict=True) if axis is not None)
            return _declared_batch(call, declared, size)
    moved, level = add_level(ins, axes)
    outs = primitive.bind(*moved, call=call, batch=(level, *batch))
    return outs, [0] * len(outs)


def _declared_batch(call: Call, declared: Any, size: int) -> tuple[Flat, Sequence[int | None]]:
    """Return the result of a batching rule, flat; raise RuleError unless it fits `outs`."""
    if not (isinstance(declared, tuple) and len(declared) == 2):
        raise RuleError(
            f"operator {call.operator!r}: the batching rule returned {type(declared).__name__}; expected a "
            "pair (outs, out_axes), or NotImplemented"
        )
    outs, out_axes = declared
    flat = jax.tree.leaves(outs)
    if out_axes is None or isinstance(out_axes, int):
        flat_axes = [out_axes] * len(flat)
    else:
        flat_axes = jax.tree.leaves(out_axes, is_leaf=lambda axis: axis is None)
    if not len(flat) == len(flat_axes) == len(call.outs.flat):
        raise RuleError(
            f"operator {call.operator!r}: the batching rule returned {len(flat)} outputs and "
            f"{len(flat_axes)} axes; expected {len(call.outs.flat)} of each, or one axis for all"
        )
    for i, (x, axis) in enumerate(zip(flat, flat_axes, strict=True)):
        _check_batched(call, i, jax.typeof(x), axis, size)
    return flat, flat_axes


def _check_batched(call: Call, i: int, actual: Any, axis: Any, size: int) -> None:
    out = call.outs.flat[i]
    shape = list(out.shape)
    if axis is not None:
        if not (isinstance(axis, int) and 0 <= axis <= len(shape)):
            raise RuleError(
                f"operator {call.operator!r}: the batching rule gave axis {axis!r} for output {i}; expected "
                f"None, or 0 to {len(shape)}"
            )
        shape.insert(axis, size)
    if (list(actual.shape), actual.dtype) != (shape, out.dtype):
        raise RuleError(
            f"operator {call.operator!r}: the batching rule returned {actual.dtype}{list(actual.shape)} as "
            f"output {i} with axis {axis}; expected {out.dtype}{shape}"
        )
