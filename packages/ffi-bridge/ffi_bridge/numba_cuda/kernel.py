"""`numba_cuda_kernel`, `numba_cuda_callable`: CUDA kernels as native JAX operations on NVIDIA GPUs."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax

from ffi_bridge.cuda.extents import LaunchOptions
from ffi_bridge.errors import PythonFallbackWarning
from ffi_bridge.identity.outside import Outside, readings
from ffi_bridge.native.call import NativeCall, alias_pairs
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.native.wrapped_kernel import picklable
from ffi_bridge.numba_cuda.call import NumbaCudaCallable, NumbaCudaKernel, NumbaCudaPython
from ffi_bridge.numba_cuda.compile import is_dispatcher
from ffi_bridge.numba_cuda.record import NotRecordableError, record

Extents = int | Sequence[int]

_AT_EVERY_CALL: Final = "it is run in Python at every call, which costs more and keeps it out of CUDA graphs"


@picklable
def numba_cuda_kernel(
    kernel: Any,
    outs: Any,
    *,
    grid: Extents | Callable[..., Extents] | None = None,
    block: Extents | Callable[..., Extents] | None = None,
    launch_dims: Extents | Callable[..., Extents] | None = None,
    threads_per_block: int = 256,
    shared_mem: int | Callable[..., int] = 0,
    cooperative: bool = False,
    static_argnames: str | Sequence[str] = (),
    scalar_argnames: str | Sequence[str] = (),
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """`f(*ins) = outs` where the CUDA kernel `kernel(*ins, *outs)` writes `outs`; no Python at call time.

    One launch on XLA's own stream, by a native handler that XLA may record into a CUDA graph. Compiled when
    traced, for the compute capability of this machine's GPUs, with the options of `@cuda.jit` (fastmath,
    max_registers, lto, launch_bounds, link).

    Args:
        kernel: a function decorated with `@numba.cuda.jit`, or with `@cuda.jit` of `numba_cuda_mlir`, which
            then compiles it; takes one array per input, then one per output, all C-contiguous; returns
            nothing. Inputs are read-only. A number arrives as a 0-d array, `x[()]`. What it raises ends the
            thread, and nothing else.
        outs: a `jax.ShapeDtypeStruct`, or any pytree of them; the result has the same structure. What the
            kernel leaves unwritten is undefined. Or a function that returns it, of a `jax.ShapeDtypeStruct`
            for each input, without the axes of jax.vmap, and of the static arguments by name.
        grid, block: blocks in the grid and threads in a block, in one to three dimensions; or a function that
            returns it, like `outs`, where one wrapper serves all shapes.
        launch_dims: or the extents of `cuda.grid`, as many as it is asked for, or such a function:
            `lambda x: x.shape`; blocks are (threads_per_block,), (16, 16) or (8, 8, 4), each at most the
            extent, and as many as cover it: the kernel checks its bounds.
        threads_per_block: of a one-dimensional launch by launch_dims.
        shared_mem: bytes of dynamic shared memory, or such a function; above 48 KB it is enabled for the
            kernel.
        cooperative: launch all blocks at once, as `cuda.cg.this_grid().sync()` and barriers by atomics need
            that the whole grid waits at. Without `grid` there are as many blocks as the GPU runs at once, for
            this block and shared memory, which the kernel reads as `cuda.gridDim.x`; a larger grid is
            refused. `ffi_bridge.cuda.cuda_driver().multiprocessors` is one block for each multiprocessor.
        static_argnames: parameters that are constants when the kernel is compiled: numbers, bools, strings,
            tuples, None, and with numba-cuda members of enums and dtypes. A call gives them by name, or
            leaves them to their defaults; they are known while tracing. Each value compiles the kernel anew.
        scalar_argnames: inputs without dimensions that the kernel takes as numbers: `x`, not `x[()]`. They
            stay in the GPU's memory, where each thread loads them.
        has_side_effect: run the kernel even where nothing reads what it writes, as for `numba_kernel`.
        vmap_method: what `jax.vmap` does. None (default): one launch for the whole batch, its elements along
            the third axis of the grid, for nested vmaps too; a kernel that uses that axis itself, or is
            cooperative, is launched once per element. The others as in `jax.ffi.ffi_call`: "sequential", a
            `jax.lax.scan` of calls, and "sequential_unrolled", a call each; "expand_dims", "broadcast_all",
            "legacy_vectorized", one call with a leading batch axis on every buffer, which is of size 1,
            repeated, or left out where an input has none; functions for the launch then see it, too.
        input_output_aliases: input index -> output index of the same shape and dtype: the kernel's two
            arguments are the same memory, updated in place where XLA may overwrite the input.

    Returns:
        A function of arrays, by position or by the names of the kernel's parameters, compiled by `jax.jit`,
        that can be pickled if `outs` and the launch can be. A launch without threads writes
        nothing, and is refused where an output has elements and begins as no input.

    Raises:
        TypeError: `kernel` is not a `@cuda.jit` kernel.
        ValueError: neither or both of grid with block and launch_dims; extents that no GPU can launch, or of
            another number than `cuda.grid` is asked for; when traced: more blocks of a cooperative kernel
            than run at once on the smallest of the GPUs; `outs` is empty or has a dtype that is not
            available; a function for one of them raises; an alias is out of range; a name that is no
            parameter.
        BackendUnavailableError: when traced: this machine has no NVIDIA GPU.
        KernelChangedError: as for `numba_kernel`.
        KernelTypeError: when traced: wrong number of arguments, a dtype or a constant the kernel cannot have,
            a kernel that does not compile, writes into an input, never uses an output, raises with
            debug=True, or synchronises its whole grid without `cooperative`.
        jax.errors.JaxRuntimeError: when run: a launch failed; the text has the CUDA error's name.

    Source: https://nvidia.github.io/numba-cuda/ for what a kernel may contain.
    """
    if not is_dispatcher(kernel):
        raise TypeError(
            f"numba_cuda_kernel needs a CUDA kernel, got {kernel!r}: decorate the function with "
            "@numba.cuda.jit or @numba_cuda_mlir.cuda.jit, without device=True"
        )
    launch = LaunchOptions(grid, block, launch_dims, threads_per_block, shared_mem, cooperative)
    aliases = alias_pairs(input_output_aliases)
    parameters = Parameters.of(kernel.py_func, static_argnames, scalar_argnames)
    read, fields = Outside.of(f"kernel '{kernel.py_func.__name__}'", kernel), (kernel, parameters, launch)
    spec = NumbaCudaKernel(vmap_method, aliases, *fields, outside=read, has_side_effect=has_side_effect)
    outs = spec.declared(outs)

    @parameters.wrap(outs)
    def call(ins: list[jax.Array], constants: Constants) -> Any:
        call_outs = spec.outs_of(outs, ins, dict(constants))
        options = spec.options(ins, constants)
        return call_outs.restore(call_kernel(spec, NativeCall(call_outs.flat, options), ins))

    return call


@picklable
def numba_cuda_callable(
    func: Callable[..., Any],
    outs: Any,
    *,
    static_argnames: str | Sequence[str] = (),
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """`f(*ins) = outs` where `func(*ins, *outs, stream)` launches CUDA kernels; no Python at call time.

    The function is run once for every set of input types and static arguments, when traced, on stand-ins
    for arrays and stream: its launches are noted and replayed by one native handler on XLA's stream, and what
    it allocates is memory of XLA's. A function that does more than that, reads a device array, say, or copies
    from the host, is run in Python at every call, with a warning: that costs microseconds, and no CUDA graph
    records it.

    Args:
        func: a Python function that launches `@cuda.jit` kernels, `kernel[grid, block, stream](...)`, on
            its arguments, on parts of them (`x[2:]`, `x[:, 0]`, `x.reshape(...)`) and on temporaries
            (`cuda.device_array`), with numbers between. What it does beside launching happens once.
        outs: a `jax.ShapeDtypeStruct`, a pytree of them, or a function that returns it: as for
            `numba_cuda_kernel`; the result has the same structure.
        static_argnames: parameters that are values of Python, hashable, known while tracing: the function
            runs once for each. A call gives them by name, or leaves them to their defaults.
        has_side_effect: launch the kernels even where nothing reads what they write, as for `numba_kernel`.
        vmap_method: what `jax.vmap` does. None (default): every launch takes the whole batch along the third
            axis of its grid, for nested vmaps too, and temporaries are as many as elements; if a kernel uses
            that axis itself, all launches are repeated for each element. "sequential": a `jax.lax.scan`;
            "sequential_unrolled": a call each.
        input_output_aliases: input index -> output index of the same shape and dtype, the same memory.

    Returns:
        A function of arrays, by position or by the names of the parameters, compiled by `jax.jit`, that can
        be pickled where `func` can.

    Raises:
        TypeError: `func` is a kernel, or not a function.
        ValueError: `outs` is empty or has a dtype that is not available, or is a function that raises; an
            alias is out of range; a name that is no parameter.
        BackendUnavailableError: when traced: this machine has no NVIDIA GPU.
        KernelChangedError: as for `numba_kernel`.
        KernelTypeError: when traced: a kernel does not compile, or no thread is launched on an output.
        jax.errors.JaxRuntimeError: when run: a launch failed, the text has the CUDA error's name; or the
            function, run in Python, raised.

    Warns:
        PythonFallbackWarning: when traced: the function is run in Python at every call, and why.
    """
    if is_dispatcher(func) or not callable(func) or not hasattr(func, "__name__"):
        raise TypeError(
            f"numba_cuda_callable needs a Python function that launches kernels, got {func!r}"
            + ("; a single kernel needs numba_cuda_kernel" if is_dispatcher(func) else "")
        )
    aliases = alias_pairs(input_output_aliases)
    parameters = Parameters.of(func, static_argnames, ())
    read = Outside.of_launches(
        f"function '{func.__name__}'", func, lambda x: readings(x) if is_dispatcher(x) else None
    )
    spec, interpreted = (
        kind(vmap_method, aliases, parameters, has_side_effect=has_side_effect, outside=read)
        for kind in (NumbaCudaCallable, NumbaCudaPython)
    )
    outs = spec.declared(outs)

    @parameters.wrap(outs, 1)  # the stream is behind the outputs
    def call(ins: list[jax.Array], constants: Constants) -> Any:
        call_outs = spec.outs_of(outs, ins, dict(constants))
        # Recording runs the function, with the values of now.
        read.check()
        try:
            recorded = record(parameters, constants, ins, call_outs.flat)
        except NotRecordableError as obstacle:
            warnings.warn(f"{obstacle}; {_AT_EVERY_CALL}", PythonFallbackWarning, stacklevel=3)
            return call_outs.restore(call_kernel(interpreted, NativeCall(call_outs.flat, constants), ins))
        spec.refuse_unfilled(recorded.launches, len(ins), NativeCall(call_outs.flat, None))
        every = (*call_outs.flat, *recorded.temporaries)
        results = call_kernel(spec, NativeCall(every, tuple(recorded.launches)), ins)
        return call_outs.restore(results[: len(call_outs.flat)])

    return call
