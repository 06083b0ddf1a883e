"""Misuse of `numba_cuda_kernel`, on the emulated GPU: wrong kernels, launches, inputs, outputs.

There an access out of bounds and a loop without an end make the call fail; a real GPU looks at neither by
itself. At an exception of Python a thread ends, on both.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from bad_cuda_kernels import (
    copy,
    device_function,
    keyword_only,
    loops_for_ever,
    raises,
    reads_beyond,
    returns,
    star,
    static_shared,
    stores_text,
    typo,
    unknown_name,
    unpacks_one_extent,
    whole_grid,
    writes_beyond,
    writes_input,
)
from misuse import RUN_ERRORS, Misuse, called

from ffi_bridge import numba_cuda_kernel
from ffi_bridge.emulated import emulate_gpu
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError

ENV = {"JAX_PLATFORMS": "cpu"}
OUT = jax.ShapeDtypeStruct((8,), jnp.float32)
X, ROWS = np.arange(8, dtype="f"), np.ones((2, 8), "f")
# Where the chapter is only listed, no GPU may be chosen.
gpu = functools.cache(emulate_gpu)


def wrapped(kernel: Any = copy, outs: Any = OUT, **options: Any) -> Any:
    """A thread for each element, unless `options` say otherwise."""
    gpu()
    return numba_cuda_kernel(kernel, outs, **({"launch_dims": 8} | options))


def _define(**options: Any) -> Callable[[], object]:
    return lambda: wrapped(**options)


def _call(*ins: Any, **options: Any) -> Callable[[], object]:
    return called(lambda: wrapped(**options), *ins)


def _fails(kernel: Any) -> Callable[[], object]:
    """The second failing call; one that works is between."""

    def act() -> object:
        try:
            jax.block_until_ready(wrapped(kernel)(X))
        except RUN_ERRORS:
            np.testing.assert_array_equal(wrapped()(X), X)
            return jax.jit(wrapped(kernel))(X)
        return "an error was lost"

    return act


def _ends_at_an_exception() -> None:
    """Call a kernel that raises: its thread ends, and the output is what its alias held."""
    f = wrapped(raises, launch_dims=1, input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.jit(f)(X), X)


def _launches_nothing(**options: Any) -> Callable[[], None]:
    """Launch no thread: the output is what its alias held."""

    def act() -> None:
        f = wrapped(launch_dims=None, input_output_aliases={0: 0}, **options)
        np.testing.assert_array_equal(jax.jit(f)(X), X)

    return act


def _vmapped(in_axes: Any, *ins: Any, out_axes: Any = 0) -> Callable[[], object]:
    return lambda: jax.vmap(wrapped(), in_axes, out_axes)(*ins)


def _no_elements() -> None:
    assert jax.vmap(wrapped())(ROWS[:0]).shape == (0, 8)


NO_KERNELS = {
    "a function": lambda x, out: None,
    "nothing": None,
    "a text": "copy",
    "a device function": device_function,
    "a kernel of the CPU": numba.njit(copy.py_func),
}
LAUNCHES = {
    "none": ({"launch_dims": None}, "either grid and block"),
    "grid without block": ({"launch_dims": None, "grid": 1}, "either grid and block"),
    "block and dims": ({"block": 8}, "either grid and block"),
    "negative dims": ({"launch_dims": -1}, "launch_dims=-1; expected one to three integers >= 0"),
    "fractional dims": ({"launch_dims": 2.5}, "launch_dims=2.5"),
    "text as dims": ({"launch_dims": "8"}, "launch_dims='8'"),
    "four dims": ({"launch_dims": (1, 2, 2, 2)}, "one to three integers"),
    "no dims": ({"launch_dims": ()}, "one to three integers"),
    "an array as dims": ({"launch_dims": X}, "launch_dims=array"),
    "negative grid": ({"launch_dims": None, "grid": -1, "block": 8}, "grid=-1"),
    "no threads": ({"launch_dims": None, "grid": 1, "block": 0}, "block=0; expected .* >= 1"),
    "too many threads": ({"launch_dims": None, "grid": 1, "block": 1025}, "1024 together"),
    "too many together": ({"launch_dims": None, "grid": 1, "block": (32, 33)}, "1024 together"),
    "a deep block": ({"launch_dims": None, "grid": 1, "block": (1, 1, 65)}, "a block of"),
    "too many blocks": ({"launch_dims": None, "grid": (1, 65_536), "block": 1}, "a grid of"),
    "more than there are": ({"launch_dims": 2**50}, "a grid of"),
    "blocks of no threads": ({"threads_per_block": 0}, "threads_per_block=0"),
    "wide blocks": ({"launch_dims": 3000, "threads_per_block": 2000}, "1024 together"),
    "negative shared memory": ({"shared_mem": -1}, "shared_mem=-1; expected a number of bytes"),
    "fractional shared memory": ({"shared_mem": 1.5}, "shared_mem=1.5"),
    "text as shared memory": ({"shared_mem": "1"}, "shared_mem='1'"),
}
OPTIONS = {
    "unknown vmap_method": ({"vmap_method": "parallel"}, "vmap_method='parallel'"),
    "alias of no output": ({"input_output_aliases": {0: 1}}, "input_output_aliases has 0: 1"),
    "alias of a negative input": ({"input_output_aliases": {-1: 0}}, "input_output_aliases"),
    "two aliases of an output": ({"input_output_aliases": {0: 0, 1: 0}}, "input_output_aliases"),
}
CALLS = {
    "no inputs": ((), {}, r"takes 2 arguments \(x, out\)"),
    "three inputs": ((X, X, X), {}, "the call has 3 inputs"),
    "rank 0": ((np.float32(1),), {"kernel": unpacks_one_extent}, "'unpacks_one_extent' does not compile"),
    "rank 2": ((ROWS,), {}, "'copy' does not compile for"),
    "complex": ((X.astype("F"),), {}, "'copy' does not compile for"),
    "bfloat16": ((jnp.asarray(X, jnp.bfloat16),), {}, "'x' has dtype bfloat16"),
    "alias of another dtype": ((X.astype("i"),), {"input_output_aliases": {0: 0}}, "equal shapes and dtypes"),
    "alias of another shape": ((X[:4],), {"input_output_aliases": {0: 0}}, "equal shapes and dtypes"),
    "alias of no input": ((X,), {"input_output_aliases": {5: 0}}, "the call has 1 inputs"),
    "a batch for one": ((ROWS,), {"kernel": unpacks_one_extent}, "'unpacks_one_extent' does not compile"),
}
OUTS = {
    "None": (None, "outs is empty", KernelDefinitionError),
    "a shape": ((8,), "ShapeDtypeStruct", KernelDefinitionError),
    "float64": (jax.ShapeDtypeStruct((8,), np.float64), "jax_enable_x64", KernelDefinitionError),
    "negative": (jax.ShapeDtypeStruct((-8,), np.float32), "outs", KernelDefinitionError),
    "too large": (jax.ShapeDtypeStruct((2**62,), np.float32), "fits into memory", KernelDefinitionError),
    "bfloat16": (jax.ShapeDtypeStruct((8,), jnp.bfloat16), "'out' has dtype bfloat16", KernelTypeError),
    "too many": ([OUT, OUT], "or change outs", KernelTypeError),
}
CANNOT_BE = {
    writes_input: "writes into its input 'x'; inputs are read-only",
    returns: "'returns' never stores to its output 'out'.*write `out",
    star: r"parameter '\*arrays'; a kernel takes one positional",
    keyword_only: "a kernel takes one positional",
    unknown_name: "nobody_defined_this",
    typo: "lenght",
    stores_text: "'stores_text' does not compile",
    whole_grid: "synchronises its whole grid.*two kernels",
    static_shared: "'static_shared' does not compile.*too much shared data",
}
FAILS = {
    reads_beyond: r"'reads_beyond': cuLaunchKernel failed.*reads 4 bytes out of bounds, at byte 32 of "
    r"argument 'x' \(float32\[8\]\), which has 32\n  at bad_cuda_kernels.py:\d+",
    writes_beyond: r"'writes_beyond': cuLaunchKernel failed.*writes 4 bytes out of bounds.*argument 'out'",
    loops_for_ever: r"'loops_for_ever': cuLaunchKernel failed.*loops without an end.*\n.*bad_cuda_kernels.py",
}
AXES = {
    "an axis that is not there": (_vmapped(2, ROWS), "axis 2"),
    "a negative axis that is not there": (_vmapped(-3, ROWS), "axis -3"),
    "no axis at all": (_vmapped(None, X), "at least one"),
    "axes for other inputs": (_vmapped((0, 0), ROWS), "in_axes"),
    "an output's axis that is not there": (_vmapped(0, ROWS, out_axes=3), "out of bounds"),
    "an output without the axis": (_vmapped(0, ROWS, out_axes=None), "out_axes"),
}
DERIVATIVES: dict[str, Callable[[], object]] = {
    "grad": lambda: jax.grad(lambda x: wrapped()(x).sum())(X),
    "jvp": lambda: jax.jvp(wrapped(), (X,), (X,)),
    "grad of vmap": lambda: jax.grad(lambda x: jax.vmap(wrapped())(x).sum())(ROWS),
}

CASES = (
    *(
        Misuse(f"no kernel: {name}", _define(kernel=x), r"@numba\.cuda\.jit", TypeError)
        for name, x in NO_KERNELS.items()
    ),
    *(
        Misuse(f"{kind}: {name}", _define(**options), match, KernelDefinitionError)
        for kind, table in (("launch", LAUNCHES), ("option", OPTIONS))
        for name, (options, match) in table.items()
    ),
    Misuse(
        "launch: much shared memory", _call(X, shared_mem=1 << 20), "at most 232448", KernelDefinitionError
    ),
    Misuse("launch: no blocks", _launches_nothing(grid=0, block=8), error=None),
    Misuse("launch: no blocks along an axis", _launches_nothing(grid=(1, 0), block=8), error=None),
    *(
        Misuse(f"call: {name}", _call(*ins, **options), match, KernelTypeError)
        for name, (ins, options, match) in CALLS.items()
    ),
    *(
        Misuse(f"outs: {name}", _call(X, outs=outs), match, error)
        for name, (outs, match, error) in OUTS.items()
    ),
    *(
        Misuse(f"kernel: {kernel.__name__}", _call(X, kernel=kernel), match, KernelTypeError)
        for kernel, match in CANNOT_BE.items()
    ),
    *(
        Misuse(f"launched: {kernel.__name__}", _fails(kernel), match, RUN_ERRORS)
        for kernel, match in FAILS.items()
    ),
    Misuse("launched: an exception ends its thread", _ends_at_an_exception, error=None),
    *(Misuse(f"vmap: {name}", act, match, ValueError) for name, (act, match) in AXES.items()),
    Misuse("vmap: no elements", _no_elements, error=None),
    *(
        Misuse(
            f"vmap by {method} of a kernel of vectors",
            lambda method=method: jax.vmap(wrapped(unpacks_one_extent, vmap_method=method))(ROWS),
            "'unpacks_one_extent' does not compile",
            KernelTypeError,
        )
        for method in ("expand_dims", "broadcast_all")
    ),
    *(
        Misuse(f"derivative: {name}", act, "'copy'.*custom_jvp", MissingRuleError)
        for name, act in DERIVATIVES.items()
    ),
)
