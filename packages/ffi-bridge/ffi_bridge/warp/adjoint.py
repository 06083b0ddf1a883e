"""The adjoint that Warp generates from a kernel, as the kernel's VJP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.warp.call import AdjointKernel, ForwardKernel


def differentiable_call(kernel: ForwardKernel, call: NativeCall, ins: Sequence[Any]) -> Sequence[Any]:
    """Call a kernel, with Warp's adjoint for reverse-mode differentiation."""

    @jax.custom_vjp
    def run(*arrays: Any) -> Any:
        return tuple(call_kernel(kernel, call, arrays))

    def forward(*arrays: Any) -> tuple[Any, Any]:
        results = run(*arrays)
        return results, (arrays, results)

    def backward(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        arrays, results = residuals
        return _cotangents(kernel, call, arrays, results, cotangents)

    run.defvjp(forward, backward)
    return run(*[jnp.asarray(x) for x in ins])


def _cotangents(
    kernel: ForwardKernel,
    call: NativeCall,
    ins: Sequence[Any],
    results: Sequence[Any],
    cotangents: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the cotangent of every input; float0 for integers, which have none."""
    # Like Warp's tape: the adjoint sees arrays as the kernel left them.
    inputs, outputs = kernel.signature.inputs, kernel.signature.outputs
    arrays = dict(zip(inputs, ins, strict=True)) | dict(zip(outputs, results, strict=True))
    given = dict(zip(outputs, cotangents, strict=True))
    adjoint = _adjoint_of(kernel, arrays)
    start = [given.get(i, jnp.zeros_like(arrays[i])) for i in adjoint.floats]
    outs = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in start)
    primals = [arrays[i] for i in adjoint.signature.arrays]
    found = call_kernel(adjoint, NativeCall(outs, call.options), [*primals, *start])
    adjoints = dict(zip(adjoint.floats, found, strict=True))
    return tuple(
        adjoints[i] if i in adjoints else np.zeros(arrays[i].shape, jax.dtypes.float0) for i in inputs
    )


def _adjoint_of(kernel: ForwardKernel, arrays: dict[int, Any]) -> AdjointKernel:
    every = kernel.signature.arrays
    floats = tuple(i for i in every if jnp.issubdtype(arrays[i].dtype, jnp.floating))
    first = len(every)
    aliases = tuple((first + i, i) for i in range(len(floats)))
    of = kernel.signature, kernel.kernel, floats
    return AdjointKernel(kernel.vmap_method, aliases, *of, outside=kernel.outside)
