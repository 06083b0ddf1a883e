"""`warp_callable`: functions that launch kernels of NVIDIA Warp as native JAX operations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import warp as wp
from jax.typing import ArrayLike

from ffi_bridge.identity.outside import Outside, Readings
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.native.wrapped_kernel import picklable
from ffi_bridge.warp.call import WarpFunction
from ffi_bridge.warp.compile import read_by
from ffi_bridge.warp.parameters import annotations_of, parameter_of
from ffi_bridge.warp.record import record
from ffi_bridge.warp.signature import Definition


@picklable
def warp_callable(
    func: Callable[..., Any],
    outs: Any,
    *,
    in_out_argnames: Sequence[str] | None = None,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
) -> Callable[..., Any]:
    """`f(*ins) = outs` where the function `func(*ins, *outs)` launches Warp kernels; no Python at call time.

    The function is run once for every set of shapes, dtypes and static values, when traced, on arrays without
    memory: its launches are noted, and one native handler replays them, on XLA's stream on a GPU, on one
    thread on the CPU. What it allocates is memory of XLA's.

    Args:
        func: a Python function with annotations like those of a Warp kernel, which calls `warp.launch` with
            its arrays, with parts of them (`x[2:]`, `x.reshape(...)`), and with arrays that it makes
            (`warp.empty`, `warp.zeros`, `warp.clone`, `fill_`, `warp.copy`). `device` is left out. What it
            does beside that happens once. Its last parameters are outputs, as in `warp_kernel`; they and its
            temporaries begin with any contents.
        outs: a `jax.ShapeDtypeStruct`, or any pytree of them: the in-out arrays in the order of the
            parameters, then the outputs; the result has the same structure. Or a function that returns it, as
            for `warp_kernel`. One call may have others: `f(*ins, outs=...)`.
        in_out_argnames: names of inputs that the function updates in place.
        has_side_effect: launch the kernels even where nothing reads what they write, as for `numba_kernel`.
        vmap_method: what `jax.vmap` does. None (default): on a GPU each launch takes the whole batch, or, if
            a kernel assigns to the name of an array parameter, all launches are repeated for each element; on
            the CPU the handler loops over the batch. Temporaries are as many as elements. "sequential": a
            `jax.lax.scan` of calls; "sequential_unrolled": a call each.

    Returns:
        A function of arrays and static values, in the order of the parameters or by their names, compiled by
        `jax.jit`, that can be pickled where `func` can.

    Raises:
        TypeError: `func` is a kernel, or not a function.
        ValueError: `outs` or `in_out_argnames` do not fit the function; a parameter has no annotation, or one
            of a kind that JAX lacks.
        KernelChangedError: as for `numba_kernel`.
        KernelTypeError: when traced: wrong arguments, a kernel that does not compile, or a function that does
            what cannot be recorded: it reads an array, launches on arrays of others, names a device.

    Source: https://nvidia.github.io/warp/, whose `warp.jax_callable` runs such a function at every call.
    """
    if isinstance(func, wp.Kernel) or not callable(func) or not hasattr(func, "__name__"):
        raise TypeError(
            f"warp_callable needs a Python function that launches kernels, got {func!r}"
            + ("; a single kernel needs warp_kernel" if isinstance(func, wp.Kernel) else "")
        )
    outs = outs if callable(outs) else Outs.of(outs)
    subject = f"function '{func.__name__}'"
    parameters = tuple(parameter_of(subject, *annotated) for annotated in annotations_of(subject, func))
    definition = Definition(subject, parameters, tuple(in_out_argnames or ()), outs)

    read = Outside.of_launches(subject, func, _read_by)

    @functools.cache
    def for_outs(num_outs: int) -> tuple[WarpFunction, Callable[..., Any]]:
        signature = definition.signature(num_outs)
        own = signature, func
        spec = WarpFunction(
            vmap_method, signature.aliases, *own, outside=read, has_side_effect=has_side_effect
        )

        @functools.partial(jax.jit, inline=True, static_argnums=(0, *(1 + i for i in signature.static)))
        def run(outs: Outs | Callable[..., Any], *values: Any) -> Any:
            arrays = signature.arrays_of(values)
            found = signature.outs_of(outs, arrays, signature.statics_of(values))
            spec.check(found)
            read.check()
            statics = {i: values[i].value for i in signature.static}
            recorded = record(func, signature, statics, [*arrays, *found.flat])
            every = (*found.flat, *recorded.temporaries)
            results = call_kernel(spec, NativeCall(every, tuple(recorded.launches)), arrays)
            return found.restore(results[: len(found.flat)])

        return spec, run

    if isinstance(outs, Outs):
        for_outs(len(outs.flat))[0].check(outs)

    @definition.describe(func)
    def call(*args: ArrayLike, outs: Any = None, **named: Any) -> Any:
        structure, num_outs = definition.outs_of_call(outs, len(args) + len(named))
        spec, run = for_outs(num_outs)
        return run(structure, *spec.signature.values(args, named))

    return call


def _read_by(value: Any) -> Readings | None:
    """Return what a Warp kernel reads from outside; None for anything else."""
    return read_by(value) if isinstance(value, wp.Kernel) else None
