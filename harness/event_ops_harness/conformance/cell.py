"""One cell of the matrix: an operator on a backend, on one case and dtype, has a property."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from event_ops.cases import Arguments, Case
from event_ops.discover import Operator
from event_ops_harness.conformance.compare import assert_same
from event_ops_harness.conformance.platforms import CPU, EMULATED, GPU
from event_ops_harness.conformance.select import none

WIDE: Final = ("float64", "complex128", "int64", "uint64")
SEED: Final = 7


@dataclass(frozen=True)
class Property:
    """A property that operators must have.

    `check` raises where an operator lacks it. `wants(operator, case)` chooses the cases on which the default
    backend is checked, `of_others` those of them on which every other backend is; `backends` and `platforms`
    limit both. `obstacle()` says why it cannot be checked on this machine. `large`: check the default backend
    on a large case, too. `apart`: check in a process begun with the variables `properties.APART`.
    """

    check: Callable[[Trial], None]
    wants: Callable[[Operator, Case], bool]
    of_others: Callable[[Operator, Case], bool] = none
    obstacle: Callable[[], str | None] = lambda: None
    dtype: str | None = None  # the operator's first where None
    backends: tuple[str, ...] | None = None
    platforms: tuple[str, ...] = (CPU, GPU, EMULATED)
    large: bool = False
    apart: bool = False

    @property
    def name(self) -> str:
        """Return the name of the check; a keyword of Python has an underscore behind it there."""
        return self.check.__name__.removesuffix("_")


@dataclass(frozen=True)
class Cell:
    """A test: a property of an operator, on a backend, a case and a dtype."""

    operator: Operator
    backend: str
    case: Case
    dtype: str
    index_dtype: str
    prop: Property

    @property
    def id(self) -> str:
        """Return "operator-backend-case-dtype-property", with the index dtype where it is not int32."""
        words = [self.operator.name, self.backend, self.case.name, self.dtype]
        words += [] if self.index_dtype == "int32" else [self.index_dtype]
        return "-".join([*words, self.prop.name])

    def check(self) -> None:
        """Raise an exception that shows the defect, unless the operator has the property."""
        with types_of(self.dtype, self.index_dtype):
            self.prop.check(_trial(self.operator, self.backend, self.case, self.dtype, self.index_dtype))

    def inputs(self) -> Arguments:
        """Return the arguments of the call."""
        return inputs_of(self.case, self.dtype, self.index_dtype)


def inputs_of(case: Case, dtype: str, index_dtype: str) -> Arguments:
    """Return the arguments of a call, as NumPy arrays; the same ones each time."""
    return case.make(np.random.default_rng(SEED), dtype, index_dtype)


def index_dtype_of(dtype: str) -> str:
    """Return the usual dtype of indices beside values of `dtype`: one that is as wide."""
    return "int64" if dtype in WIDE else "int32"


def types_of(*dtypes: str) -> AbstractContextManager[None]:
    """Enable 64-bit types within the block if one of the dtypes is wide, and disable them if none is."""
    return jax.enable_x64(bool(set(dtypes) & set(WIDE)))


class Trial:
    """An operator on a backend with the arguments of a case, on which properties are checked."""

    def __init__(self, operator: Operator, backend: str, case: Case, dtype: str, index_dtype: str) -> None:
        self.operator, self.backend, self.case, self.dtype = operator, backend, case, dtype
        self.types = functools.partial(types_of, dtype, index_dtype)
        self.numpy_args, self.kwargs = inputs_of(case, dtype, index_dtype)
        # jnp.asarray would compile a program for each of them.
        self.args = tuple(map(jax.device_put, self.numpy_args))
        self.jitted = jax.jit(self.f)  # compiled once for all properties
        self.rtol = case.relative_tolerance(dtype)

    def f(self, *args: Any, **more: Any) -> Any:
        """Call the operator on this backend, as a function of its arrays."""
        return self.operator.function(*args, backend=self.backend, **self.kwargs | more)

    def same(self, result: Any, expected: Any, factor: float = 1.0) -> None:
        """Raise Mismatch unless the two agree within `factor` times the case's tolerance."""
        assert_same(result, expected, factor * self.rtol)

    def differentiable(self) -> tuple[Callable[..., list[Any]], list[Any]]:
        """Return a function from the differentiable arguments to the float outputs, and these arguments."""
        places = self.case.differentiable

        def active(*xs: Any) -> list[Any]:
            moved = dict(zip(places, xs, strict=True))
            results = self.f(*[moved.get(i, x) for i, x in enumerate(self.args)])
            return [y for y in jax.tree.leaves(results) if jax.numpy.issubdtype(y.dtype, jax.numpy.floating)]

        return active, [self.args[i] for i in places]


# The properties of one case follow each other.
_trial = functools.lru_cache(2)(Trial)
