"""`numba_kernel`: a Numba `@njit` kernel as a native JAX operation on CPU."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numba
from jax.typing import ArrayLike

from ffi_bridge.identity.outside import Outside
from ffi_bridge.native.call import NativeCall, alias_pairs
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.native.wrapped_kernel import picklable
from ffi_bridge.numba_cpu.call import NumbaKernel, NumbaPython, Options
from ffi_bridge.numba_cpu.derivatives.calls import DifferentiableKernel
from ffi_bridge.numba_cpu.internals import Dispatcher, config


@picklable
def numba_kernel(
    kernel: Callable[..., None],
    outs: Any,
    *,
    static_argnames: str | Sequence[str] = (),
    scalar_argnames: str | Sequence[str] = (),
    has_side_effect: bool = False,
    ordered: bool = False,
    differentiable: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """`f(*ins) = outs` where the Numba kernel `kernel(*ins, *outs)` writes `outs`; no Python, no
    GIL at call time.

    In a process with NUMBA_DISABLE_JIT=1 kernels are called as Python functions of NumPy arrays, slowly:
    `breakpoint()`, `print` and debuggers work within them.

    Args:
        kernel: a function decorated with `@numba.njit`; takes one array per input, then one per
            output, all C-contiguous, numbers too: `x[()]`; writes every element of every output;
            returns nothing. Inputs are read-only; where their addresses go to C functions or lists, each call
            copies them first, and warns.
        outs: a `jax.ShapeDtypeStruct`, or any pytree of them; the result has the same structure. A dict
            is in the order of its keys. Or a function that returns it, of a `jax.ShapeDtypeStruct` for
            each input, without the axes of jax.vmap, and of the static arguments by name.
        static_argnames: parameters that are constants when the kernel is compiled: numbers, bools, strings,
            tuples, members of enums, dtypes, None. A call gives them by name, or leaves them to their
            defaults; they are known while tracing. Each value compiles the kernel anew, and of an `if` that
            compares one with a constant, or takes it as true or false, only the branch that is taken.
        scalar_argnames: inputs without dimensions that the kernel takes as numbers: `x`, not `x[()]`.
        has_side_effect: run the kernel even where nothing reads what it writes, as often as it is called; a
            call without is left out where its results are not needed, and two that are the same may be one.
            The order of two calls is open, unless one takes a result of the other. JAX refuses, as for its
            callbacks, `jax.vmap` of a `cond` around it, and of a `while_loop` whose steps differ.
        ordered: as has_side_effect, and in the order of the program: calls of all ordered kernels that a
            thread makes run one after the other, and in turn with those of `io_callback(ordered=True)`. Under
            `jax.vmap` a call runs for each element of the batch in turn, before the next call does. On
            several devices, inside `jax.shard_map`, each has an order of its own; this needs jax 0.11.
        differentiable: let Enzyme make derivatives where JAX asks for them, forward, reverse and of second
            order, with the batch as one call; of what is float32 or float64. The kernel itself runs as
            without. Needs the package enzyme-ad, `ffi-bridge[enzyme]`. The derivative at a branch is that
            of the branch taken; reverse keeps in memory all that the kernel overwrites.
        vmap_method: what `jax.vmap` does. None (default): the handler loops over the batch in
            machine code, for nested vmaps too, and the kernel always sees the ranks it was written
            for. The others as in `jax.ffi.ffi_call`: "sequential", a `jax.lax.scan` of calls, and
            "sequential_unrolled", a call each; "expand_dims", "broadcast_all", "legacy_vectorized",
            one call with a leading batch axis on every buffer, which is of size 1, repeated, or
            left out where an input has none.
        input_output_aliases: input index -> output index of the same shape and dtype: the kernel's
            two arguments are the same memory, updated in place where XLA may overwrite the input.
            Read from the output argument: a loop that reads one and writes the other does not
            vectorise.

    Returns:
        A function of arrays, by position or by the names of the kernel's parameters, compiled by
        `jax.jit`, that can be pickled if `outs` can be; works under jit, vmap,
        scan, while, cond, remat, shard_map on CPU. A kernel with `parallel=True` runs with the
        thread count that `numba.set_num_threads` had set where it was called, or, under an outer
        `jax.jit`, where that was traced.

    Raises:
        TypeError: `kernel` is not an `@njit` function.
        ValueError: `outs` is empty or has a dtype that is not available, or is a function that raises; an
            alias is out of range; a name that is no parameter.
        KernelChangedError: when traced: what the kernel reads from outside (globals, closures, small arrays,
            functions that it calls) is not what it was when it was wrapped, and it has to be compiled.
        KernelTypeError: when traced: wrong number of arguments, a dtype the kernel cannot have, a
            kernel that does not compile, writes into an input, never stores to an output, or returns a
            value.
        MissingRuleError: when a derivative is traced: there is no enzyme-ad, the kernel calls what Enzyme
            cannot follow (linear algebra, lists, random numbers, C functions), or the order is above 2.
        ShardedInputError: when compiled: side effects in a program of several devices outside
            `jax.shard_map`.
        jax.errors.JaxRuntimeError: when run: the kernel raised; the text has its name and the
            exception. Inside a parallel region: every call of the kernel that was under way then
            fails, in whichever thread.

    Example:
        >>> import jax, numba
        >>> from ffi_bridge import numba_kernel
        >>> @numba.njit
        ... def running_sum(x, y):
        ...     total = 0.0
        ...     for i in range(x.size):
        ...         total += x[i]
        ...         y[i] = total
        >>> call = numba_kernel(running_sum, jax.ShapeDtypeStruct((4,), "float32"))
        >>> call(jax.numpy.arange(4.0))
        Array([0., 1., 3., 6.], dtype=float32)
    """
    aliases = alias_pairs(input_output_aliases)
    effects = {"has_side_effect": has_side_effect, "ordered": ordered}
    if config.DISABLE_JIT and inspect.isfunction(kernel):
        # It is held to no values from outside: Python reads them at each call, so that none is compiled in.
        parameters = Parameters.of(kernel, static_argnames, scalar_argnames)
        spec = NumbaPython(vmap_method, aliases, kernel, parameters, outside=None, **effects)
    else:
        dispatcher = njit_function(kernel, "numba_kernel")
        parameters = Parameters.of(dispatcher.py_func, static_argnames, scalar_argnames)
        kind, read = kernel_class(differentiable), outside(dispatcher)
        spec = kind(vmap_method, aliases, dispatcher, parameters, outside=read, **effects)
    outs = spec.declared(outs)
    calls = functools.partial(_jitted, spec, outs)
    return on_all_threads(calls, parameters.describe(outs)) if spec.is_parallel else calls(None)


def outside(kernel: Any) -> Outside:
    """Record the values that a kernel reads from outside, as they are now."""
    return Outside.of(f"kernel '{kernel.__name__}'", kernel)


def kernel_class(differentiable: bool) -> type[NumbaKernel]:
    """Return the class of a kernel with or without derivatives."""
    return DifferentiableKernel if differentiable else NumbaKernel


def njit_function(kernel: Any, needed_by: str) -> Any:
    """Return the dispatcher `kernel`; raise TypeError unless it is one of the CPU, without objects."""
    hint = "decorate it with @numba.njit"
    if isinstance(kernel, Dispatcher):
        options: dict[str, Any] = kernel.targetoptions
        if options.get("nopython") and not options.get("forceobj"):
            return kernel
        hint = "use @numba.njit instead of an object-mode @numba.jit"
    elif "cuda" in type(kernel).__module__:
        hint = "a CUDA kernel needs numba_cuda_kernel"
    raise TypeError(f"{needed_by} needs a Numba CPU kernel, got {kernel!r}: {hint}")


def _jitted(
    spec: NumbaKernel, outs: Outs | Callable[..., Any], num_threads: int | None
) -> Callable[..., Any]:
    @spec.parameters.wrap(outs)
    def call(ins: list[jax.Array], constants: Constants) -> Any:
        call_outs = spec.outs_of(outs, ins, dict(constants))
        return call_outs.restore(
            call_kernel(spec, NativeCall(call_outs.flat, Options(num_threads, constants)), ins)
        )

    return call


def on_all_threads(
    jitted: Callable[[int | None], Callable[..., Any]], describe: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Return a function that has a jitted one for each thread count, which is a constant of the handler."""
    for_count = functools.cache(jitted)

    @describe
    def call(*args: ArrayLike, **named: Any) -> Any:
        return for_count(numba.get_num_threads())(*args, **named)

    return call
