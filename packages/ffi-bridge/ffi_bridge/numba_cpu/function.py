"""`numba_function`: a Numba function that returns its results as a native JAX operation on CPU."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.typing import ArrayLike

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.exact import Constants, exactly
from ffi_bridge.native.exact import plain as inexact
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import as_array, call_kernel
from ffi_bridge.native.wrapped_kernel import describe_as, picklable
from ffi_bridge.numba_cpu.call import NumbaKernel, Options
from ffi_bridge.numba_cpu.internals import config, ufunc_of
from ffi_bridge.numba_cpu.interpreted import NumbaPython
from ffi_bridge.numba_cpu.kernel import kernel_class, njit_function, on_all_threads, outside
from ffi_bridge.numba_cpu.returned_arrays import storing
from ffi_bridge.numba_cpu.ufunc import ufunc_call


@picklable
def numba_function(
    function: Callable[..., Any],
    outs: Any = None,
    *,
    static_argnames: str | Sequence[str] = (),
    has_side_effect: bool = False,
    ordered: bool = False,
    differentiable: bool = False,
    vmap_method: str | None = None,
) -> Callable[..., Any]:
    """`f(*ins) = function(*ins)` for a Numba function that returns arrays or numbers; no Python, no GIL.

    What it returns is copied into XLA's memory. Inputs without dimensions arrive as numbers.

    Args:
        function: decorated with `@numba.njit`; takes arrays, C-contiguous and read-only, and numbers; returns
            an array of any layout, a number, or a tuple of them. Or a universal function, decorated with
            `@numba.vectorize` or `@numba.guvectorize`, which needs no outs: the signatures choose the loop,
            arrays are broadcast as in NumPy; 64 bits are 32 where JAX has no wider types.
        outs: a `jax.ShapeDtypeStruct` for an array or a number, a pytree of them for a tuple, or a function
            that returns it: as for `numba_kernel`. Arrays have these dtypes; numbers, which are of 64 bits to
            Numba, are cast to a dtype of their kind.
        static_argnames: as for `numba_kernel`. A parameter that is left to its default is a constant, too.
        has_side_effect, ordered, differentiable: as for `numba_kernel`; not for universal functions.
        vmap_method: as for `numba_kernel`.

    Returns:
        A function with the signature of `function`, as `numba_kernel` returns it.

    Raises:
        TypeError: `function` is not an `@njit` function.
        ValueError: as for `numba_kernel`.
        KernelChangedError: as for `numba_kernel`.
        KernelTypeError: when traced: a function that does not compile for these inputs, or returns other
            dtypes, another rank or another number of results than `outs` says.
        jax.errors.JaxRuntimeError: when run: an array that was returned has another shape than `outs` says,
            an integer does not fit into its dtype, or the function raised.

    Example:
        >>> import jax, numba, numpy as np
        >>> from ffi_bridge import numba_function
        >>> @numba.njit
        ... def ordered(x):
        ...     return np.sort(x)
        >>> call = numba_function(ordered, lambda x: x)
        >>> call(jax.numpy.array([3.0, 1.0, 2.0]))
        Array([1., 2., 3.], dtype=float32)
    """
    if (ufunc := ufunc_of(function)) is not None:
        if outs is not None or static_argnames or has_side_effect or ordered or differentiable:
            raise KernelDefinitionError(
                f"{ufunc.function.__name__} is a universal function, whose outputs follow its signatures; "
                "expected no outs, no static_argnames, no side effects and no derivatives"
            )
        return ufunc_call(ufunc, vmap_method)
    in_python = config.DISABLE_JIT and inspect.isfunction(function)
    dispatcher: Any = function if in_python else njit_function(function, "numba_function")
    plain: Any = getattr(dispatcher, "py_func", dispatcher)
    subject = f"kernel '{plain.__name__}'"
    parameters = Parameters.of(plain, static_argnames, ())
    read, effects = outside(dispatcher), {"has_side_effect": has_side_effect, "ordered": ordered}

    @functools.cache
    def kernel_for(
        inputs: tuple[str, ...], numbers: tuple[str, ...], constants: Constants, num_outs: int
    ) -> NumbaKernel:
        kernel = storing(dispatcher, inputs, dict(constants), num_outs)
        of_kernel = Parameters(getattr(kernel, "py_func", kernel), (), numbers)
        kind = NumbaPython if in_python else kernel_class(differentiable)
        return kind(vmap_method, (), kernel, of_kernel, outside=read, **effects)

    describe = describe_as(plain, 0, parameters.constant)

    def jitted(num_threads: int | None) -> Callable[..., Any]:
        @functools.partial(exactly, static=parameters.static)
        @functools.partial(jax.jit, inline=True, static_argnames=parameters.static)
        @describe
        def call(*args: ArrayLike, **named: Any) -> Any:
            given, constants = _told_apart(plain, parameters.static, args, inexact(named))
            ins = {name: as_array(subject, name, x) for name, x in given.items()}
            static = {name: x for name, x in constants if name in parameters.static}
            found = Outs.for_call(outs, subject, list(ins.values()), static)
            numbers = tuple(name for name, x in ins.items() if x.ndim == 0)
            kernel = kernel_for(tuple(ins), numbers, constants, len(found.flat))
            kernel.check(found)
            options = Options(num_threads, Constants())
            return found.restore(call_kernel(kernel, NativeCall(found.flat, options), list(ins.values())))

        return call

    is_parallel = not in_python and dispatcher.targetoptions.get("parallel")
    return on_all_threads(jitted, describe) if is_parallel else jitted(None)


def _told_apart(
    function: Any, static: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[dict[str, Any], Constants]:
    """Return the inputs of a call by name, and the constants: what is static, or left to its default."""
    try:
        bound = inspect.signature(function).bind(*args, **named)
    except TypeError as error:
        raise KernelTypeError(f"kernel '{function.__name__}': {error}") from None
    inputs = {name: x for name, x in bound.arguments.items() if name not in static}
    bound.apply_defaults()
    return inputs, Constants((name, x) for name, x in bound.arguments.items() if name not in inputs)
