"""List the properties, and make the cells of the matrix: operator x backend x case x dtype x property."""

import functools
import importlib.util
import inspect
import os
from collections.abc import Iterator, Sequence
from typing import Final

import jax

from event_ops.cases import CONFORMANCE, Case
from event_ops.discover import Operator
from event_ops_harness.conformance import derivatives, inactive, inputs, transforms, values
from event_ops_harness.conformance.cell import Cell, Property, index_dtype_of
from event_ops_harness.conformance.platforms import CPU, EMULATED, backends, platform, registered
from event_ops_harness.conformance.select import (
    bounded,
    event_driven,
    every,
    few,
    first,
    large,
    small,
    smooth,
    widest,
)

FULL: Final = "full"
QUICK: Final = "quick"
BOUNDS_CHECK: Final = "NUMBA_BOUNDSCHECK"
FLAGS: Final = "XLA_FLAGS"
THREADS: Final = "NUMBA_NUM_THREADS"
# With these variables, accesses out of bounds, faults on several devices, and races show. The number of
# threads is a prime, so that shares begin anywhere in blocks of even sizes.
APART: Final = {
    BOUNDS_CHECK: "1",
    FLAGS: f"--xla_force_host_platform_device_count={transforms.DEVICES}",
    THREADS: "7",
}


def _needs_devices() -> str | None:
    devices = len(jax.devices())
    if devices >= transforms.DEVICES:
        return None
    return f"JAX has {devices} device(s); run with {FLAGS}={APART[FLAGS]}"


def _needs_checks() -> str | None:
    return None if os.environ.get(BOUNDS_CHECK) == "1" else f"run with {BOUNDS_CHECK}=1"


def _needs_threads() -> str | None:
    threads = importlib.import_module("numba").get_num_threads()
    return None if threads > 1 else f"Numba has one thread; run with {THREADS}={APART[THREADS]}"


def _needs_flatbuffers() -> str | None:
    spec = importlib.util.find_spec("flatbuffers")
    return None if spec else "jax.export needs flatbuffers to serialise"


VALUES: Final = Property(values.values, every, bounded)
NUMBA: Final = ("numba_cpu",)
# On an emulated GPU bounds and races are checked in every cell.
BOUNDS: Final = Property(
    inputs.bounds, bounded, every, _needs_checks, backends=(*NUMBA, "warp"), platforms=(CPU,), apart=True
)
RACES: Final = Property(
    values.races, first, every, _needs_threads, backends=NUMBA, platforms=(CPU,), large=True, apart=True
)
NOT_ON_GPU: Final = (CPU, EMULATED)  # GPUs add in any order
Derivative: Final = functools.partial(Property, dtype="float64")

# In the quick profile backends but the default are checked for their values and for the ways into them: what
# lies above the choice of a backend is the same for all.
PROPERTIES: Final = (
    VALUES,
    Property(values.jit, first, every),
    Property(values.eager, first, every, platforms=NOT_ON_GPU),
    Property(values.written, first, platforms=NOT_ON_GPU),
    Property(values.deterministic, first, large=True),
    Property(values.threads, first, large=True),
    Property(values.nan, first),
    Property(transforms.shape, first),
    Property(transforms.vmap, few, first),
    Property(transforms.vmap_last, first),
    Property(transforms.nested_vmap, few),
    Property(transforms.scan, first, every),
    Property(transforms.while_, first),
    Property(transforms.disable_jit, first, every),
    Property(transforms.donation, first),
    Property(transforms.export, first, obstacle=_needs_flatbuffers),
    Derivative(derivatives.jvp, smooth),
    Derivative(derivatives.vjp, smooth, widest),
    Derivative(derivatives.second, widest),
    Derivative(derivatives.vmap_grad, widest),
    Derivative(derivatives.remat, widest),
    Derivative(derivatives.transpose, smooth),
    Derivative(derivatives.kernel_derivatives, widest, backends=NUMBA, platforms=(CPU,)),
    Derivative(inactive.nan_derivatives, event_driven),
    Property(inputs.invalid_calls, first),
    BOUNDS,
    Property(transforms.shard_map, first, obstacle=_needs_devices, apart=True),
    RACES,
)


def named(names: Sequence[str] = ()) -> list[Property]:
    """Return the properties with these names; all of them for no names."""
    chosen = [p for p in PROPERTIES if not names or p.name in names]
    if unknown := set(names) - {p.name for p in chosen}:
        available = ", ".join(p.name for p in PROPERTIES)
        raise ValueError(f"no property is called {', '.join(sorted(unknown))}; there are: {available}")
    return chosen


def cells(operators: Sequence[Operator], profile: str = QUICK, only: Sequence[str] = ()) -> list[Cell]:
    """Return the cells of these operators on every backend that JAX's default platform has here.

    `only` names properties. "quick" takes as few cases as exercise each property, "full" all small ones; both
    take the large one, except on an emulated GPU.
    """
    chosen = [prop for prop in named(only) if platform() in prop.platforms]
    return [
        cell
        for operator in operators
        for backend in backends(operator.kernel)
        for cell in _of_backend(operator, backend, chosen, profile)
    ]


def _of_backend(operator: Operator, backend: str, chosen: Sequence[Property], profile: str) -> Iterator[Cell]:
    # Once for all cases and properties: a kernel puts its backends in order each time that it is asked.
    is_default = backend == operator.kernel.defaults[registered()]
    able = [prop for prop in chosen if prop.backends is None or backend in prop.backends]
    large_ones = large(operator)
    for case in (*operator.tagged(CONFORMANCE), *large_ones):
        for prop in able:
            if case in large_ones:
                wanted = prop.large and is_default and platform() != EMULATED
            else:
                wanted = _is_wanted(operator, case, prop, is_default, profile)
            if wanted:
                yield from _of_dtypes(operator, backend, case, prop)


def _is_wanted(operator: Operator, case: Case, prop: Property, is_default: bool, profile: str) -> bool:
    if profile == FULL and small(operator, case):
        return bool(case.differentiable) or prop.dtype is None
    return prop.wants(operator, case) and (is_default or prop.of_others(operator, case))


def _of_dtypes(operator: Operator, backend: str, case: Case, prop: Property) -> Iterator[Cell]:
    if prop is not VALUES:
        dtype = prop.dtype or operator.dtypes[0]
        yield Cell(operator, backend, case, dtype, index_dtype_of(dtype), prop)
        return
    for pair in dtype_pairs(operator, backend, case):
        yield Cell(operator, backend, case, *pair, prop)


def dtype_pairs(operator: Operator, backend: str, case: Case) -> Iterator[tuple[str, str]]:
    """Yield the pairs (dtype, index dtype) of a case.

    All are for the first two cases on the default backend, and for the first case on every other. Every pair
    is a kernel to compile. Later cases take other ways through the kernels, with the same types.
    """
    default = backend == operator.kernel.defaults[registered()]
    all_dtypes = small(operator, case) and case in operator.cases[: 2 if default else 1]
    kernel = operator.kernel.backends[registered()][backend]
    dtypes = operator.dtypes if all_dtypes else operator.dtypes[:1]
    able = [dtype for dtype in dtypes if kernel.obstacle(registered(), (dtype,)) is None]
    for dtype in able:
        yield dtype, index_dtype_of(dtype)
    indexed = "indices" in inspect.signature(operator.function).parameters
    if able and indexed and all_dtypes and backend != "reference":
        yield able[0], "uint32"
