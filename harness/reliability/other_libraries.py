"""Small programs of other libraries, and the bridge before or after them; run as `other_libraries.py ORDER`.

Prints what each program gave as JSON, with the state of the process that others see. ORDER is "alone",
"first" or "last": whether and when the bridge is imported and every toolchain of it called.
"""

import copy
import copyreg
import importlib
import json
import locale
import logging
import os
import pickle
import pkgutil
import sys
import types
import warnings
from typing import Any

import jax
import numba
import numpy as np
import scipy.sparse  # has NumPy ignore a warning
import warp as wp
import warp.sparse
from jax.experimental import io_callback
from numba import cuda

OURS = ("ffi_bridge", "event_ops", "ptx_on_cpu", "__main__")
# What Python, Numba and Warp keep for themselves: counters, singletons and caches of names.
KEPT = {"__slotnames__", "_unique_var_count", "aa_count", "id_counter", "options", "_NVVM__INSTANCE"}
LIBRARIES = ("numpy", "jax", "jaxlib", "numba", "llvmlite", "numba_cuda", "warp", "copyreg", "copy", "pickle")

assert scipy.sparse
wp.config.quiet = True


@wp.kernel
def doubled(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = x[i] + x[i]


@wp.kernel
def tripled(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


@numba.njit(parallel=True)
def in_parallel(x):
    y = np.empty_like(x)
    for i in numba.prange(x.size):
        y[i] = 2 * x[i]
    return y


@numba.njit
def copied(x, y):
    y[:] = x


@cuda.jit
def on_cuda(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


def outcome(program: Any) -> Any:
    """Return what a program gives, or the exception that it raises."""
    try:
        return program()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def launched(kernel: Any, dtype: Any) -> Any:
    x = wp.array(np.arange(4), dtype=dtype, device="cpu")
    y = wp.zeros_like(x)
    wp.launch(kernel, dim=4, inputs=[x], outputs=[y], device="cpu")
    return y.numpy().tolist()


def overloaded() -> Any:
    made = (wp.overload(doubled, [wp.array(dtype=t), wp.array(dtype=t)]) for t in (wp.float16, wp.int32))
    return [kernel.is_generic for kernel in made]


def product() -> Any:
    rows, ones = wp.array([0, 1], dtype=int, device="cpu"), wp.ones(2, dtype=float, device="cpu")
    matrix = warp.sparse.bsr_from_triplets(2, 2, rows, rows, ones)
    return warp.sparse.bsr_mv(matrix, wp.array([1.0, 2.0], dtype=float, device="cpu")).numpy().tolist()


def callbacks() -> Any:
    seen: list[float] = []
    jax.jit(lambda x: io_callback(lambda y: seen.append(float(y)), None, x, ordered=True))(1.0)
    jax.effects_barrier()
    return seen


def as_ptx() -> Any:
    return len(cuda.compile(on_cuda.py_func, (numba.float32[::1], numba.float32[::1]), cc=(9, 0))) > 1


PROGRAMS = {
    "generic kernels": lambda: [launched(doubled, t) for t in (wp.float32, wp.float64)],
    "overloads": overloaded,
    "sparse": product,
    "copies": lambda: [copy.copy(kernel) is kernel for kernel in (doubled, tripled)],
    "pickles": lambda: outcome(lambda: len(pickle.dumps(tripled)) > 0)[:30],
    "threads": lambda: (in_parallel(np.arange(4.0)).tolist(), numba.threading_layer()),
    "float16": lambda: str(numba.njit(lambda x: x[0])(np.ones(2, np.float16))),
    "callbacks": callbacks,
}
# With the bridge numba-cuda 0.30 compiles beside NumPy 2.5, too, which it cannot alone.
if hasattr(np, "row_stack"):
    PROGRAMS["PTX"] = as_ptx


def state() -> dict[str, Any]:
    """Return what is set for the whole process; kept apart from the attributes of modules, by identity."""
    jax_config: Any = jax.config
    return {
        "environment": {name: x for name, x in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "path": list(sys.path),
        "filters": [repr(x) for x in warnings.filters],
        "NumPy": [sorted(dir(np)), np.geterr(), repr(np.get_printoptions())],
        "jax.config": {name: repr(x) for name, x in jax_config.values.items()},
        "numba.config": {name: repr(x) for name, x in vars(numba.config).items() if name.isupper()},
        "warp.config": {
            name: repr(x) for name, x in vars(wp.config).items() if not (callable(x) or name.startswith("__"))
        },
        "module of Warp": {name: repr(x) for name, x in tripled.module.options.items()},
        "log": [logging.root.level, len(logging.root.handlers), logging.getLogger("jax").level],
        "rest": [sys.getrecursionlimit(), locale.setlocale(locale.LC_ALL), os.getcwd()],
    }


def attributes() -> dict[tuple[str, str], Any]:
    """Return the attributes of other libraries' modules and of their classes, and how classes pickle."""
    modules = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] in LIBRARIES]
    values = {("copyreg", repr(kind)): how for kind, how in copyreg.dispatch_table.items()}
    for module in filter(lambda m: isinstance(m, types.ModuleType), modules):
        for name, value in list(vars(module).items()):
            values[module.__name__, name] = value
            if isinstance(value, type) and not is_ours(value):
                values |= {(f"{module.__name__}.{name}", key): x for key, x in vars(value).items()}
    return values


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", None) or "").partition(".")[0] in OURS


def is_data(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, str, dict, list, types.ModuleType))


def changes(before: dict[tuple[str, str], Any], after: dict[tuple[str, str], Any]) -> list[str]:
    """Return the functions, classes and constants that are replaced, gone, or ours."""
    replaced = [x for x, value in before.items() if after.get(x, KEPT) is not value and not is_data(value)]
    ours = [x for x, value in after.items() if is_ours(value)]
    return [".".join(x) for x in (*replaced, *ours) if x[1] not in KEPT]


def use_bridge() -> None:
    """Import every module of the bridge and of the operators, and call a kernel of each toolchain."""
    for package in map(importlib.import_module, ("ffi_bridge", "event_ops")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            is_a_program = module.name.endswith(("__main__", ".child"))
            needs_more = any(x in module.name for x in ("by_mlir", "triton", "flax", "brainevent"))
            if not is_a_program and not needs_more:
                importlib.import_module(module.name)
    bridge = importlib.import_module("ffi_bridge")
    importlib.import_module("ffi_bridge.emulated").emulate_gpu().backends = ("numba_cuda",)
    four = jax.ShapeDtypeStruct((4,), np.float32)

    def on_stream(x, y, stream):
        on_cuda[1, 4, stream](x, y)

    def by_launch(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(tripled, dim=4, inputs=[x], outputs=[y])

    made = (
        bridge.numba_kernel(copied, four, ordered=True),
        bridge.numba_function(in_parallel, four),
        bridge.numba_cuda_kernel(on_cuda, four, launch_dims=4),
        bridge.numba_cuda_callable(on_stream, four),
        bridge.warp_kernel(tripled, four, block_dim=64),
        bridge.warp_callable(by_launch, four),
    )
    for call in made:
        call(np.arange(4, dtype=np.float32))
    # Kernels of Warp, too, as for a GPU.
    importlib.import_module("ffi_bridge.emulated").emulate_gpu().backends = ("warp",)
    bridge.warp_kernel(tripled, four, block_dim=64)(np.arange(4, dtype=np.float32))


def main(order: str) -> None:
    if order == "first":
        use_bridge()
    outcomes = {name: outcome(program) for name, program in PROGRAMS.items()}
    before = attributes()
    if order == "last":
        use_bridge()
        outcomes = {name: outcome(program) for name, program in PROGRAMS.items()}
    print(json.dumps(outcomes | {"changes": changes(before, attributes()), "state": state()}))


if __name__ == "__main__":
    main(sys.argv[1])
