"""`warp_kernel`, `warp_callable`: kernels of NVIDIA Warp as native JAX operations, on CPUs and GPUs."""

import functools
import importlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import warp as wp
from jax.typing import ArrayLike

from ffi_bridge.errors import KernelDefinitionError
from ffi_bridge.identity.outside import Outside
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.outs import Outs, option_for_call
from ffi_bridge.native.primitive import call_kernel, refuse_symbolic
from ffi_bridge.native.wrapped_kernel import picklable
from ffi_bridge.warp.call import Launch, WarpFunction, WarpKernel, WarpOperation, differentiable_call
from ffi_bridge.warp.compile import read_by
from ffi_bridge.warp.internals import parameters_of
from ffi_bridge.warp.launch import launch_dims as launch_dims_of
from ffi_bridge.warp.launch import threads_of_block
from ffi_bridge.warp.parameters import parameter_of, warp_shape
from ffi_bridge.warp.record import record
from ffi_bridge.warp.signature import Definition, Signature, annotations_of

T = TypeVar("T", bound=WarpOperation)
Arrays = list[jax.Array]


@dataclass(frozen=True)
class KernelByName:
    """A Warp kernel in an argument that is pickled; it is read again as that kernel.

    Pickling is not declared for `wp.Kernel` itself: Warp copies kernels by the same means.
    """

    kernel: Any

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        function = self.kernel.func
        name = function.__module__, function.__qualname__
        try:
            importable = named(*name)
        except (AttributeError, ImportError):
            importable = None
        if importable is not self.kernel:
            raise pickle.PicklingError(
                f"kernel '{self.kernel.key}' is not what {'.'.join(name)} names; to be pickled, a Warp "
                "kernel has to be at the top of a module that can be imported"
            )
        return named, name


def by_name(value: Any) -> Any:
    """Return a stand-in for a Warp kernel in a pickle; anything else as it is."""
    return KernelByName(value) if isinstance(value, wp.Kernel) else value


def named(module: str, name: str) -> Any:
    """Return the object that a module has under a name with dots."""
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


@functools.partial(picklable, stand_in=by_name)
def warp_kernel(
    kernel: Any,
    outs: Any,
    *,
    launch_dims: int | Sequence[int] | Callable[..., int | Sequence[int]] | None = None,
    in_out_argnames: Sequence[str] | None = None,
    block_dim: int | None = None,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    differentiable: bool = False,
) -> Callable[..., Any]:
    """`f(*ins) = outs` where the Warp kernel `kernel(*ins, *outs)` writes `outs`; no Python at call time.

    On a GPU a launch on XLA's stream, by a native handler that XLA may record into a CUDA graph. On the CPU
    one call of Warp's own compiled entry point, on one thread.

    Args:
        kernel: a function decorated with `@warp.kernel`. Its last parameters, as many as `outs` has beyond
            the in-out ones, are outputs, and it writes every element of them. A `warp.array` parameter,
            `array[float]` or `array(dtype=float)`, is a buffer of JAX, C-contiguous; elements that are
            vectors or matrices take the last axes: `array[vec3]` is (n, 3). A 0-d array is passed as one of
            shape (1,). Parameters that are numbers, vectors, matrices, or structs of those are static, known
            when traced. Generic ones (`Any`) take the types of the call.
        outs: a `jax.ShapeDtypeStruct`, or any pytree of them: the in-out arrays in the order of the
            parameters, then the outputs; the result has the same structure. Or a function that returns it, of
            a `jax.ShapeDtypeStruct` for each input, without the axes of jax.vmap, and of the static
            parameters by name: one wrapper then serves all shapes.
        launch_dims: the extents of `wp.tid()`, as many as it is unpacked into, or such a function:
            `lambda x: x.shape[1:]`; default: the shape of the first output. A kernel with tiles may have
            `block_dim` as one extent more. One call may have others, and other outputs:
            `f(*ins, launch_dims=..., outs=...)`.
        in_out_argnames: names of inputs that the kernel updates in place, for example to accumulate; the
            array that was given stays as it is, unless it is donated.
        block_dim: threads per block on a GPU, at most 1024, default 256; the CPU runs blocks of one.
        has_side_effect: run the kernel even where nothing reads what it writes, as for `numba_kernel`.
        vmap_method: what `jax.vmap` does. None (default): on a GPU one launch takes the whole batch, or, if
            the kernel assigns to the name of an array parameter, a launch each element; on the CPU the
            handler loops over the batch in machine code. "sequential": a `jax.lax.scan` of calls;
            "sequential_unrolled": a call each. "expand_dims", "broadcast_all": one launch as in
            `warp.jax_kernel`, where the kernel sees the batch in the first axis of every array, which is as
            many times as long, and in the first of `launch_dims`; an array without a batch axis stays as it
            is, or is repeated.
        differentiable: `jax.vjp` and `jax.grad` launch the adjoint that Warp derives from the kernel, by
            Warp's rules: accumulate with `warp.atomic_add`, since an element that is read and then
            overwritten has no right adjoint; static parameters have none. No forward mode.

    Returns:
        A function of arrays and static values, in the order of the kernel's parameters or by their names,
        compiled by `jax.jit`, that can be pickled where the kernel can be imported. Its keyword arguments
        `launch_dims` and `outs` are static, and for that call alone.

    Raises:
        TypeError: `kernel` is not a Warp kernel.
        ValueError: `outs`, `launch_dims` or its default, `in_out_argnames` or `block_dim` do not fit the
            kernel; a function for one of them raises; a parameter is of a kind that JAX lacks: an indexed
            array, a texture, a struct with arrays in it.
        KernelChangedError: as for `numba_kernel`.
        KernelTypeError: when traced: wrong number of arguments, wrong dtype or rank, a traced value for a
            static parameter, a store to an input, none to an output, more threads along an axis than
            `wp.tid()` counts, 2^31, none where an output is to be written, a kernel that does not compile.

    Source: https://nvidia.github.io/warp/ for what a kernel may contain.
    """
    if not isinstance(kernel, wp.Kernel):
        raise TypeError(
            f"warp_kernel needs a Warp kernel, got {kernel!r}: decorate the function with @warp.kernel"
        )
    if differentiable and vmap_method == "expand_dims":
        raise KernelDefinitionError(
            'differentiable=True and vmap_method="expand_dims": all elements of a batch would add to one '
            'adjoint of what they share; choose "broadcast_all", or another method'
        )
    outs = outs if callable(outs) else Outs.of(outs)
    dims = (
        launch_dims
        if callable(launch_dims) or launch_dims is None
        else launch_dims_of("launch_dims", launch_dims)
    )
    subject, threads = f"kernel '{kernel.key}'", threads_of_block(block_dim)
    parameters = tuple(parameter_of(subject, *annotated) for annotated in parameters_of(kernel))
    definition = Definition(subject, parameters, tuple(in_out_argnames or ()), outs)
    apply = differentiable_call if differentiable else call_kernel
    read = Outside(subject, functools.partial(read_by, kernel))

    def make(signature: Signature) -> WarpKernel:
        fields = vmap_method, signature.aliases, signature, kernel
        return WarpKernel(*fields, outside=read, has_side_effect=has_side_effect)

    def work(spec: WarpKernel, outs: Outs, dims: Any, statics: Constants, arrays: Arrays) -> Sequence[Any]:
        if callable(dims):
            # A function of shapes is to see numbers.
            refuse_symbolic(spec, [parameters[i].name for i in spec.arrays], [x.shape for x in arrays])
            named = spec.signature.by_name(statics)
            dims = option_for_call("launch_dims", dims, _dims, subject, arrays, named)
        first = parameters[spec.signature.outputs[0]]
        extents = dims or warp_shape(first.type, outs.flat[0].shape)
        launch = Launch(extents, statics, threads, is_default=not dims)
        return apply(spec, NativeCall(outs.flat, launch), arrays)

    for_outs = _traced(definition, make, work)

    @definition.describe(kernel.func)
    def call(*args: ArrayLike, outs: Any = None, launch_dims: Any = None, **named: Any) -> Any:
        of_call = dims if launch_dims is None else launch_dims_of("launch_dims", launch_dims)
        structure, num_outs = definition.outs_of_call(outs, len(args) + len(named))
        spec, run = for_outs(num_outs)
        return run(structure, of_call, *spec.signature.values(args, named))

    return call


def _traced(
    definition: Definition, make: Callable[[Signature], T], work: Callable[..., Sequence[Any]]
) -> Callable[[int], tuple[T, Callable[..., Any]]]:
    """Return the function of a number of outputs that returns the operation, and its calls under `jax.jit`.

    A call has outs, launch dimensions, then static values and inputs. `make` returns the operation, and
    `work` the results of a call that is traced.
    """

    @functools.cache
    def for_outs(num_outs: int) -> tuple[T, Callable[..., Any]]:
        spec = make(definition.signature(num_outs))
        signature = spec.signature

        @functools.partial(jax.jit, inline=True, static_argnums=(0, 1, *(2 + i for i in signature.static)))
        def run(outs: Outs | Callable[..., Any], dims: Any, *values: Any) -> Any:
            arrays = signature.arrays_of(values)
            statics = Constants((i, values[i].value) for i in signature.static)
            call_outs = signature.outs_of(outs, arrays, signature.by_name(statics))
            spec.check(call_outs)
            return call_outs.restore(work(spec, call_outs, dims, statics, arrays)[: len(call_outs.flat)])

        return spec, run

    # Options that contradict the outputs are refused already when the kernel is wrapped.
    if isinstance(definition.outs, Outs):
        for_outs(len(definition.outs.flat))[0].check(definition.outs)

    return for_outs


def _dims(dims: Any) -> tuple[int, ...]:
    """Return launch dimensions that a function gave; an array without dimensions is one thread's."""
    is_single = isinstance(dims, tuple) and not dims
    return launch_dims_of("launch_dims", 1 if is_single else dims)


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
        KernelTypeError: when traced: wrong arguments, a kernel that does not compile, an output that no
            launch stores to, or a function that does what cannot be recorded: it reads an array, launches on
            arrays of others, names a device.

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

    read = Outside.of_launches(subject, func, lambda x: read_by(x) if isinstance(x, wp.Kernel) else None)

    def make(signature: Signature) -> WarpFunction:
        fields = vmap_method, signature.aliases, signature, func
        return WarpFunction(*fields, outside=read, has_side_effect=has_side_effect)

    def work(spec: WarpFunction, outs: Outs, _: None, statics: Constants, arrays: Arrays) -> Sequence[Any]:
        read.check()
        recorded = record(func, spec.signature, dict(statics), [*arrays, *outs.flat])
        every = (*outs.flat, *recorded.temporaries)
        return call_kernel(spec, NativeCall(every, tuple(recorded.launches)), arrays)

    for_outs = _traced(definition, make, work)

    @definition.describe(func)
    def call(*args: ArrayLike, outs: Any = None, **named: Any) -> Any:
        structure, num_outs = definition.outs_of_call(outs, len(args) + len(named))
        spec, run = for_outs(num_outs)
        return run(structure, None, *spec.signature.values(args, named))

    return call
