"""Lower calls to MLIR: results that JAX keeps meanwhile, and batches that XLA divides among devices.

XLA divides a foreign call along the leading axes that all of its operands and results have in common; it
gathers everything on every device where it knows of none. An axis that devices do not divide evenly would be
filled up with elements that nobody gave, on which a kernel must not run: it is not divided. JAX's names for
what it keeps are here alone.
"""

import functools
import itertools
import math
import threading
from collections.abc import Hashable, Sequence
from typing import Any, Final

import jax
import numpy as np
from jax import export
from jax.interpreters import mlir
from jax.interpreters.partial_eval import JaxprTracer
from jax.sharding import AxisType
from jaxlib.mlir.ir import Attribute, DictAttr, InsertionPoint, StringAttr

from ffi_bridge.native.call import NativeCall, NativeKernel
from ffi_bridge.native.tracing import Level


def is_linearized(tangents: Sequence[Any]) -> bool:
    """Return whether JAX traces a derivative as a program of tangents, which mostly is transposed then."""
    return any(isinstance(x, JaxprTracer) for x in tangents)


def leave_results(ctx: Any, call: Hashable, results: Sequence[Any]) -> None:
    """Leave the results of a call for calls that follow in the same block of a program."""
    ctx.module_context.cached_primitive_lowerings[_here(call)] = results


def results_left(ctx: Any, call: Hashable) -> Sequence[Any] | None:
    """Return the results left for a call like this one in the block that is lowered, if any."""
    return ctx.module_context.cached_primitive_lowerings.get(_here(call))


def _here(call: Hashable) -> Hashable:
    current: Any = InsertionPoint.current
    # Our function in the key keeps it apart from JAX's own keys.
    return _here, current.block, call


# Two threads may compile programs with one target.
_registering: Final = threading.Lock()


def divided_levels(kernel: NativeKernel, call: NativeCall, ins: Sequence[Any], context: Any) -> int:
    """Return how many batch levels, from the outermost on, XLA may divide among the devices of a program.

    `context`: where a program of MLIR says which devices it is for. 0 for kernels that are compiled for the
    size of a batch, and where inputs that lack a level are larger than all others.
    """
    devices = 1 if isinstance(context, mlir.SPMDAxisContext) else getattr(context, "num_devices", 1)
    if devices == 1 or not takes_any_batch(kernel, call, ins):
        return 0
    sizes, mesh = list(call.sizes), getattr(context, "abstract_mesh", None)
    # Explicit axes split evenly, as JAX sees to; along others XLA itself chooses how to split.
    if mesh is None or mesh.empty or any(kind is not AxisType.Explicit for kind in mesh.axis_types):
        # One axis that does not divide ends it: only leading axes are divided.
        sizes = list(itertools.takewhile(lambda size: size and size % devices == 0, sizes))
    return len(sizes) if is_small(call, ins, len(sizes)) else 0


def takes_any_batch(kernel: NativeKernel, call: NativeCall, ins: Sequence[Any]) -> bool:
    """Return whether a batch may be divided: the handler reads its size when it runs.

    XLA forgets which results are updated in place where it divides a call.
    """
    config: Any = jax.config
    if kernel.for_sizes or kernel.aliases or kernel.is_kept or kernel.is_lowered_in_place:
        return False
    extents = itertools.chain(call.sizes, *(x.shape for x in (*ins, *call.outs)))
    return bool(config.jax_use_shardy_partitioner) and not any(map(export.is_symbolic_dim, extents))


def is_small(call: NativeCall, ins: Sequence[Any], levels: int) -> bool:
    """Return whether inputs that lack some of the first levels, repeated for them, are the smaller part."""
    lacking = [
        math.prod(level.size for level in call.levels[:levels] if not level.mapped[i])
        for i in range(len(ins))
    ]
    sizes = [_bytes(x) * times for x, times in zip(ins, lacking, strict=True)]
    results = sum(map(_bytes, call.outs)) * math.prod(call.sizes)
    repeated = sum(size for size, times in zip(sizes, lacking, strict=True) if times > 1)
    return 2 * repeated <= sum(sizes) + results


def _bytes(x: Any) -> int:
    return math.prod(x.shape) * np.dtype(x.dtype).itemsize


def spread(call: NativeCall, ins: Sequence[Any], levels: int) -> tuple[NativeCall, list[Any]]:
    """Return the call, and its inputs, with the first levels in all of them."""
    every = [Level(level.size, (True,) * len(ins)) for level in call.levels[:levels]]
    arrays: list[Any] = []
    for i, x in enumerate(ins):
        extents, dims = [(level.size, level.mapped[i]) for level in call.levels], iter(x.shape)
        # An axis of extent 1 is broadcast along the level that the input lacks.
        front = [next(dims) if has else 1 for _, has in extents[:levels]]
        rest = tuple(dims)
        whole = (*(size for size, _ in extents[:levels]), *rest)
        arrays.append(jax.numpy.broadcast_to(x.reshape(*front, *rest), whole))
    return NativeCall(call.outs, call.options, (*every, *call.levels[levels:])), arrays


def attributes(target: str, sizes: Sequence[int], ctx: Any) -> dict[str, Any]:
    """Return the attributes by which XLA divides a call of a target along leading axes of these sizes.

    All operands and results begin with these axes. One attribute is for what propagates shardings, one for
    what divides the call.
    """
    with _registering:
        _register(target)
    # The names that Shardy itself gives, in order.
    names = itertools.chain("ijklmnopqrstuvwxyz", (f"z_{i}" for i in itertools.count(1)))
    batch = list(itertools.islice(names, len(sizes)))
    extents = dict(zip(batch, sizes, strict=True))

    def factors(x: Any) -> str:
        letters = [next(names) for _ in x.shape[len(sizes) :]]
        extents.update(zip(letters, x.shape[len(sizes) :], strict=True))
        return f"[{', '.join((*batch, *letters))}]"

    ins, outs = (", ".join(map(factors, side)) for side in (ctx.avals_in, ctx.avals_out))
    factor_sizes = ", ".join(f"{name}={size}" for name, size in extents.items())
    rule = f"#sdy.op_sharding_rule<({ins})->({outs}) {{{factor_sizes}}}, custom>"
    return {
        "mhlo.frontend_attributes": DictAttr.get({"num_batch_dims": StringAttr.get(str(len(sizes)))}),
        "sdy.sharding_rule": Attribute.parse(rule),
    }


@functools.cache
def _register(target: str) -> None:
    jax.ffi.register_ffi_target_as_batch_partitionable(target)
