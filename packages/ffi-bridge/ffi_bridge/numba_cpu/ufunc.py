"""Numba's universal functions as native JAX operations: loops and broadcasting as in NumPy."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge.errors import KernelTypeError
from ffi_bridge.identity.callees import compiled_now
from ffi_bridge.native.primitive import as_array
from ffi_bridge.native.wrapped_kernel import describe_as, function_of_text
from ffi_bridge.numba_cpu.internals import UFunc, as_dtype, global_compiler_lock
from ffi_bridge.numba_cpu.kernel import numba_kernel, outside

Dtypes = tuple[np.dtype[Any], ...]


def ufunc_call(ufunc: UFunc, vmap_method: str | None) -> Callable[..., Any]:
    """Return the function of arrays that computes as `ufunc` does."""
    name, num_inputs = ufunc.function.__name__, ufunc.num_inputs
    parameters = list(inspect.signature(ufunc.function).parameters)
    core = (_elementwise if ufunc.layout is None else _over_core_dimensions)(ufunc, vmap_method)
    read = outside(ufunc.function)

    @functools.partial(jax.jit, inline=True)
    @describe_as(ufunc.function, len(parameters) - num_inputs)
    def call(*ins: Any) -> Any:
        if len(ins) != num_inputs:
            expected = ", ".join(parameters[:num_inputs])
            raise KernelTypeError(f"kernel '{name}' got {len(ins)} inputs; expected {num_inputs}: {expected}")
        read.check()  # the kernel is made for dtypes, here
        return core(*[as_array(f"kernel '{name}'", *named) for named in zip(parameters, ins, strict=False)])

    return call


def _loop(ufunc: UFunc, ins: Sequence[jax.Array]) -> tuple[int, Dtypes]:
    """Return number and dtypes of the first declared loop to which all inputs can be cast safely."""
    for number, text in enumerate(ufunc.loops):
        dtypes = tuple(map(np.dtype, text.replace("->", "")))
        if all(np.can_cast(x.dtype, dtype) for x, dtype in zip(ins, dtypes, strict=False)):
            return number, dtypes
    raise KernelTypeError(
        f"kernel '{ufunc.function.__name__}' has no loop for {', '.join(str(x.dtype) for x in ins)}; it is "
        f"declared for {', '.join(map(_text, ufunc.loops))}: cast the inputs, or declare another"
    )


def _text(loop: str) -> str:
    return "->".join(",".join(str(np.dtype(x)) for x in part) for part in loop.split("->"))


def _elementwise(ufunc: UFunc, vmap_method: str | None) -> Callable[..., Any]:
    function, names = ufunc.function, tuple(inspect.signature(ufunc.function).parameters)
    # As in NumPy's own loops, division by zero gives inf or NaN.
    scalar = numba.njit(function, error_model="numpy", **ufunc.options)
    inferred = functools.cache(functools.partial(_inferred, scalar))

    @functools.cache
    def wrapped(dtypes: Dtypes, numbers: tuple[str, ...]) -> Callable[..., Any]:
        kernel: Any = numba.njit(_loop_over(scalar, names, dtypes, numbers))
        outs = functools.partial(_one_for_each, dtype=jax.dtypes.canonicalize_dtype(dtypes[-1]))
        return numba_kernel(kernel, outs, scalar_argnames=numbers, vmap_method=vmap_method)

    def call(*ins: jax.Array) -> jax.Array:
        dtypes = _loop(ufunc, ins)[1] if ufunc.loops else inferred(tuple(x.dtype for x in ins))
        shape = jnp.broadcast_shapes(*[x.shape for x in ins])
        numbers = tuple(name for name, x in zip(names, ins, strict=True) if x.ndim == 0)
        # A number is not repeated: the kernel reads it once.
        flat = [x if x.ndim == 0 else jnp.broadcast_to(x, shape).reshape(-1) for x in ins]
        return wrapped(dtypes, numbers)(*flat).reshape(shape)

    return call


def _one_for_each(*ins: jax.ShapeDtypeStruct, dtype: Any) -> jax.ShapeDtypeStruct:
    """Return the output of a loop over vectors of one size, or over numbers alone."""
    return jax.ShapeDtypeStruct(next((x.shape for x in ins if x.shape), (1,)), dtype)


def _loop_over(scalar: Any, names: Sequence[str], dtypes: Dtypes, numbers: Sequence[str]) -> Any:
    """Return the function that calls `scalar`, in the loop's dtypes, for each element of the output."""
    casts = {f"_cast_{name}_": dtype.type for name, dtype in zip(names, dtypes, strict=False)}
    args = [f"_cast_{name}_({name if name in numbers else f'{name}[_i_]'})" for name in names]
    text = (
        f"def _written_({', '.join(names)}, _out_):\n"
        f"    for _i_ in range(_out_.size):\n"
        f"        _out_[_i_] = _called_({', '.join(args)})"
    )
    scope = {**casts, "_called_": scalar}
    return function_of_text(scalar.__name__, text, scope, f"loop of {scalar.__name__}")


def _inferred(scalar: Any, input_dtypes: Dtypes) -> Dtypes:
    """Return the dtypes of the loop that Numba compiles for inputs of these, where none is declared."""
    args = tuple(map(numba.from_dtype, input_dtypes))
    with global_compiler_lock, compiled_now(scalar):
        scalar.compile(args)
    return (*input_dtypes, np.dtype(as_dtype(scalar.overloads[args].signature.return_type)))


def _over_core_dimensions(ufunc: UFunc, vmap_method: str | None) -> Callable[..., Any]:
    layout = re.sub(r"\s", "", str(ufunc.layout))
    inputs, outputs = (re.findall(r"\((.*?)\)", side) for side in layout.split("->"))
    dims = [tuple(filter(None, each.split(","))) for each in (*inputs, *outputs)]
    names = tuple(inspect.signature(ufunc.function).parameters)
    kernel = numba.njit(ufunc.function, error_model="numpy", **ufunc.options)

    @functools.cache
    def wrapped(dtypes: Dtypes, numbers: tuple[str, ...]) -> Callable[..., Any]:
        outs = functools.partial(_core_outputs, dims, dtypes[len(inputs) :])
        return numba_kernel(kernel, outs, scalar_argnames=numbers, vmap_method=vmap_method)

    def over_one(numbers: tuple[str, ...], dtypes: Dtypes, *ins: jax.Array) -> Any:
        # What has no dimensions is a number or, as all outputs are, an array with one element.
        whole = [
            x if x.ndim or name in numbers else x.reshape(1) for name, x in zip(names, ins, strict=False)
        ]
        arrays = wrapped(dtypes, numbers)(*whole)
        results = [
            y if core_dims else y.reshape(())
            for y, core_dims in zip(arrays, dims[len(inputs) :], strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    def call(*ins: jax.Array) -> Any:
        if ufunc.loops:
            number, dtypes = _loop(ufunc, ins)
            arrays = ufunc.arrays[number]
        else:
            promoted = np.result_type(*[x.dtype for x in ins])
            dtypes, arrays = (*[x.dtype for x in ins], *[promoted] * len(outputs)), (False,) * len(names)
        dtypes = tuple(map(jax.dtypes.canonicalize_dtype, dtypes))
        numbers = tuple(
            name
            for name, core_dims, is_array in zip(names, dims[: len(ins)], arrays, strict=False)
            if not core_dims and not is_array
        )
        cast = [x.astype(dtype) for x, dtype in zip(ins, dtypes, strict=False)]
        return jnp.vectorize(functools.partial(over_one, numbers, dtypes), signature=layout)(*cast)

    return call


def _core_outputs(
    dims: Sequence[tuple[str, ...]], dtypes: Dtypes, *ins: jax.ShapeDtypeStruct
) -> tuple[jax.ShapeDtypeStruct, ...]:
    """Return the outputs of one call; Numba has seen to it that all their dimensions occur in inputs."""
    sizes = {
        dim: size
        for core_dims, x in zip(dims, ins, strict=False)
        for dim, size in zip(core_dims, x.shape, strict=False)
    }
    return tuple(
        jax.ShapeDtypeStruct(tuple(sizes[dim] for dim in core_dims) or (1,), dtype)
        for core_dims, dtype in zip(dims[len(ins) :], dtypes, strict=True)
    )
