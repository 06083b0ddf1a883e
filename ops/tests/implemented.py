"""The test matrix: operators x backends x cases, as pytest parameters with readable ids."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

from event_ops.case import CONFORMANCE, Case
from event_ops.discover import Operator, operators

WIDE = ("float64", "complex128", "int64", "uint64")


def implementations() -> list[Any]:
    """(operator, backend) for every backend that runs on this machine's CPU."""
    return [
        pytest.param(operator, backend, id=f"{operator.name}-{backend}")
        for operator in operators()
        for backend in operator.kernel.available_backends("cpu")
    ]


def cells(
    wanted: Callable[[Operator, Case], bool] = lambda operator, case: True,
    of_others: Callable[[Operator, Case], bool] = lambda operator, case: True,
) -> list[Any]:
    """(operator, backend, case) for the conformance cases that are wanted.

    On the default backend; on the others those of them that `of_others` wants, too: what lies above the
    choice of a backend is the same for all.
    """
    return [
        pytest.param(operator, backend, case, id=f"{operator.name}-{backend}-{case.name}")
        for operator in operators()
        for backend in operator.kernel.available_backends("cpu")
        for case in operator.tagged(CONFORMANCE)
        if wanted(operator, case)
        if backend == operator.kernel.defaults["cpu"] or of_others(operator, case)
    ]


@functools.cache
def small(operator: Operator, case: Case) -> bool:
    """A case that exercises rules rather than sizes."""
    args, _ = case.make(np.random.default_rng(0), operator.dtypes[0], "int32")
    return max(np.size(x) for x in args) < 1000


def first(operator: Operator, case: Case) -> bool:
    """The operator's plainest case: where what is tested of the reference is JAX itself, one is enough."""
    return case is operator.cases[0]


def dtype_pairs(operator: Operator, backend: str, case: Case) -> Iterator[tuple[str, str]]:
    """(dtype, index dtype): all of two cases on the default backend, and of the first on the others.

    Every pair is a kernel to compile; the cases that follow take other ways through it, with the same types.
    """
    default = backend == operator.kernel.defaults["cpu"]
    every = small(operator, case) and case in operator.cases[: 2 if default else 1]
    dtypes = operator.dtypes if every else operator.dtypes[:1]
    if backend == "warp":
        dtypes = tuple(dtype for dtype in dtypes if "complex" not in dtype)
    for dtype in dtypes:
        yield dtype, "int64" if dtype in WIDE else "int32"
    indexed = "indices" in inspect.signature(operator.function).parameters
    if indexed and every and backend != "reference":
        yield dtypes[0], "uint32"


def arguments(case: Case, dtype: str, index_dtype: str = "int32") -> Any:
    """The same arguments at every call, as JAX arrays of exactly these dtypes."""
    args, kwargs = case.make(np.random.default_rng(7), dtype, index_dtype)
    return tuple(jax.numpy.asarray(x) for x in args), kwargs


def needs_x64(*dtypes: str) -> Any:
    """A context with 64-bit types where one of `dtypes` is wide, and without where none is."""
    return jax.enable_x64(any(dtype in WIDE for dtype in dtypes))


def bound(operator: Operator, backend: str, kwargs: dict[str, Any]) -> Callable[..., Any]:
    """The operator on one backend as a function of its arrays."""
    return lambda *args: operator.function(*args, backend=backend, **kwargs)


def assert_close(result: Any, expected: Any, rtol: float) -> None:
    """Equal structure, dtypes as given, values within `rtol` of the largest magnitude; NaN equals NaN."""
    results, wanted = jax.tree.leaves(result), jax.tree.leaves(expected)
    assert len(results) == len(wanted)
    for a, b in zip(map(np.asarray, results), map(np.asarray, wanted), strict=True):
        assert a.shape == b.shape
        finite = np.abs(b[np.isfinite(b)])
        atol = rtol * float(finite.max()) if finite.size else 0.0
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
