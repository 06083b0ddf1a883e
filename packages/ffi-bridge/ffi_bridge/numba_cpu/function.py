"""`numba_function`: a Numba function that returns its results as a native JAX operation on CPU."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np
from jax.typing import ArrayLike
from numba import types
from numba.extending import overload

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.exact import Constants, jitted
from ffi_bridge.native.exact import plain as inexact
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import as_array, call_kernel
from ffi_bridge.native.wrapped_kernel import describe_as, function_of_text, picklable
from ffi_bridge.numba_cpu.call import NumbaKernel, NumbaPython, Options
from ffi_bridge.numba_cpu.compiler import specialised
from ffi_bridge.numba_cpu.internals import as_dtype, config, ufunc_of
from ffi_bridge.numba_cpu.kernel import kernel_class, njit_function, on_all_threads, outside
from ffi_bridge.numba_cpu.ufunc import ufunc_call


def storing(function: Any, inputs: Sequence[str], constants: Mapping[str, Any], num_outs: int) -> Any:
    """Return the kernel that calls `function` and stores its results in `num_outs` outputs.

    The parameters `inputs` are the kernel's own; the others are constants of it.
    """
    plain = getattr(function, "py_func", function)
    called, arguments = function, list(inputs)
    if constants:  # which may stand between the inputs
        called = (functools.partial if plain is function else specialised)(function, **constants)
        arguments = [f"{name}={name}" for name in inputs]
    outs = [f"out_{i}" for i in range(num_outs)]
    # Written out, since a kernel has a parameter for each buffer.
    lines = [
        f"def _written_({', '.join([*inputs, *outs])}):",
        f"    _results_ = _checked_(_called_({', '.join(arguments)}), ({', '.join(outs)},))",
        *(f"    _write_(_results_[{i}], {out})" for i, out in enumerate(outs)),
    ]
    text, scope = "\n".join(lines), {"_called_": called, "_checked_": checked, "_write_": _write}
    kernel: Any = function_of_text(plain.__name__, text, scope, f"what {plain.__name__} returns")
    return kernel if plain is function else numba.njit(kernel)


def checked(returned: Any, outs: Any) -> tuple[Any, ...]:
    """Return the results of a function as a tuple; raise KernelTypeError unless each fits its output."""
    values = returned if isinstance(returned, tuple) else (returned,)
    if problem := _mismatch(numba.typeof(values), numba.typeof(outs)):
        raise KernelTypeError(problem)
    return values


@overload(checked, strict=False)
def _checked(returned: Any, outs: Any) -> Callable[..., Any]:
    is_tuple = isinstance(returned, types.BaseTuple)
    if problem := _mismatch(returned if is_tuple else (returned,), outs):
        raise KernelTypeError(problem)
    return (lambda returned, outs: returned) if is_tuple else (lambda returned, outs: (returned,))


def _mismatch(returned: Any, outs: Any) -> str:
    """Say which results do not fit the outputs; nothing if all do."""
    if len(returned) != len(outs):
        return f"it returns {len(returned)} values; expected {len(outs)}, as many as outs has"
    for i, (value, out) in enumerate(zip(returned, outs, strict=True)):
        is_array = isinstance(value, types.Array)
        if not (is_array or isinstance(value, types.Number | types.Boolean)):
            return f"result {i} is {value}; expected an array or a number"
        actual, expected = (
            np.dtype(as_dtype(x.dtype if isinstance(x, types.Array) else x)) for x in (value, out)
        )
        ndim = value.ndim if is_array else 0
        # Numba computes with numbers of 64 bits, whatever they come from.
        fits = actual == expected if is_array else np.can_cast(actual, expected, "same_kind")
        if ndim != out.ndim or not fits:
            return (
                f"result {i} is {actual} with {ndim} dimensions; expected {expected} with {out.ndim}, as "
                "outs says: change outs, or cast it in the function"
            )
    return ""


def _write(value: Any, out: Any) -> None:
    """Copy an array of the output's shape, or a number that its dtype can hold."""
    if np.shape(value) != out.shape:
        raise ValueError("returned an array of shape", np.shape(value), "where outs says", out.shape)
    if np.ndim(value) == 0 and out.dtype.kind in "iu" and out.dtype.type(value) != value:
        raise OverflowError("returned a number that the dtype of outs cannot hold", value)
    out[...] = value


@overload(_write, strict=False)
def _write_natively(value: Any, out: Any) -> Callable[..., None]:
    if isinstance(value, types.Array):

        def copy(value: Any, out: Any) -> None:
            if value.shape != out.shape:
                raise ValueError("returned an array of shape", value.shape, "where outs says", out.shape)
            out[...] = value

        return copy
    if isinstance(value, types.Integer) and isinstance(out.dtype, types.Integer):
        kind = as_dtype(out.dtype).type

        def cast(value: Any, out: Any) -> None:
            # A cast alone would wrap round without a word.
            if kind(value) != value:
                raise OverflowError("returned a number that the dtype of outs cannot hold", value)
            out[()] = kind(value)

        return cast

    def assign(value: Any, out: Any) -> None:
        out[()] = value

    return assign


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
    interpreted = config.DISABLE_JIT and inspect.isfunction(function)
    dispatcher: Any = function if interpreted else njit_function(function, "numba_function")
    plain: Any = getattr(dispatcher, "py_func", dispatcher)
    subject = f"kernel '{plain.__name__}'"
    parameters = Parameters.of(plain, static_argnames, ())
    read = None if interpreted else outside(dispatcher)  # Python reads values from outside at each call
    effects = {"has_side_effect": has_side_effect, "ordered": ordered}

    @functools.cache
    def kernel_for(
        inputs: tuple[str, ...], numbers: tuple[str, ...], constants: Constants, num_outs: int
    ) -> NumbaKernel:
        kernel = storing(dispatcher, inputs, dict(constants), num_outs)
        of_kernel = Parameters(getattr(kernel, "py_func", kernel), (), numbers)
        kind = NumbaPython if interpreted else kernel_class(differentiable)
        return kind(vmap_method, (), kernel, of_kernel, outside=read, **effects)

    describe = describe_as(plain, 0, parameters.constant)

    def for_count(num_threads: int | None) -> Callable[..., Any]:
        @jitted(describe, parameters.static)
        def call(*args: ArrayLike, **named: Any) -> Any:
            inputs, constants = _inputs_and_constants(plain, parameters.static, args, inexact(named))
            ins = {name: as_array(subject, name, x) for name, x in inputs.items()}
            static = {name: x for name, x in constants if name in parameters.static}
            call_outs = Outs.for_call(outs, subject, list(ins.values()), static)
            numbers = tuple(name for name, x in ins.items() if x.ndim == 0)
            kernel = kernel_for(tuple(ins), numbers, constants, len(call_outs.flat))
            kernel.check(call_outs)
            options = Options(num_threads, Constants())
            return call_outs.restore(
                call_kernel(kernel, NativeCall(call_outs.flat, options), list(ins.values()))
            )

        return call

    is_parallel = not interpreted and dispatcher.targetoptions.get("parallel")
    return on_all_threads(for_count, describe) if is_parallel else for_count(None)


def _inputs_and_constants(
    function: Any, static: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[dict[str, Any], Constants]:
    """Return the inputs of a call by name, and the constants: static arguments, and defaults."""
    try:
        bound = inspect.signature(function).bind(*args, **named)
    except TypeError as error:
        raise KernelTypeError(f"kernel '{function.__name__}': {error}") from None
    inputs = {name: x for name, x in bound.arguments.items() if name not in static}
    # After the inputs were taken: what a call leaves out is a constant.
    bound.apply_defaults()
    return inputs, Constants((name, x) for name, x in bound.arguments.items() if name not in inputs)
