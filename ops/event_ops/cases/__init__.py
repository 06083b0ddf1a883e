"""Cases, named inputs of an operator, and mistakes, named wrong calls, which tests and benchmarks share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from event_ops.cases.bench import Bench

# Positional and keyword arguments of one call.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]

CONFORMANCE = "conformance"
BENCHMARK = "benchmark"

_RELATIVE: Mapping[str, float] = {"float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}


@dataclass(frozen=True)
class Rounding:
    """A bound on the distance of an operator's values from the exact ones.

    Args:
        ulps: units in the last place, of the largest value of an output; 0 where values are only copied,
            compared or counted.
        sums: every value is a sum of terms, each a product of inexact inputs: ulps are of the sum of the
            terms' magnitudes, and what adding n terms in any order may do comes on top.
    """

    ulps: float
    sums: bool = False


EXACT = Rounding(0)


@dataclass(frozen=True, eq=False)  # each is one of a kind, and a key of caches
class Case:
    """One way to call an operator.

    Args:
        name: part of test ids and report rows.
        make: `(rng, dtype, index_dtype) -> (args, kwargs)`; NumPy arrays, the same ones for the same `rng`;
            `event_ops.cases.draw` makes such functions.
        tags: "conformance" (small, an edge or a rule), "benchmark" (a size worth timing), or both.
        differentiable: positions of the arguments to which derivatives at this point exist.
        tolerance: how many times the dtype's usual rounding error is allowed between two ways to run the
            operator, and for values where it says nothing by `Rounding`; more for long sums.
    """

    name: str
    make: Callable[[np.random.Generator, str, str], Arguments]
    tags: frozenset[str] = field(default=frozenset({CONFORMANCE}))
    differentiable: tuple[int, ...] = ()
    tolerance: float = 1.0

    def relative_tolerance(self, dtype: str) -> float:
        """Return the largest relative error; 0 for integers, which are exact."""
        return self.tolerance * _RELATIVE.get(dtype, 0.0)


def both_ways(
    case: Callable[..., Case], name: str, make: Callable[[bool], Any], **options: Any
) -> tuple[Case, Case]:
    """Return the case of a product and that of the transposed one; `make(transpose)` draws their inputs."""
    return case(name, make(False), **options), case(f"{name}-transposed", make(True), **options)


def benchmark(
    name: str, make: Callable[[np.random.Generator, str, str], Arguments], tolerance: float = 1.0
) -> Case:
    """Return a case that only benchmarks run."""
    return Case(name, make, frozenset({BENCHMARK}), tolerance=tolerance)


@dataclass(frozen=True)
class InvalidCall:
    """One way to call an operator wrongly: `make()` returns the arguments, the error must match `match`."""

    name: str
    make: Callable[[], Arguments]
    error: type[Exception]
    match: str


class OperatorCases(NamedTuple):
    """Hold an operator's cases for tests and benchmarks: see `event_ops.discover.Operator`."""

    dtypes: tuple[str, ...]
    cases: tuple[Case, ...]
    invalid_calls: tuple[InvalidCall, ...]
    rounding: Rounding | None
    bench: Bench = Bench()


Wrong = Callable[..., InvalidCall]  # wrong(name, error, match, **parts)


def changes_to(arrays: Mapping[str, Any], **options: Any) -> Wrong:
    """Return `wrong(name, error, match, **parts)`: a call that is right but for the given parts.

    Args:
        arrays: the positional arguments of the right call, by name and in order.
        options: its keyword arguments.
    """

    def wrong(name: str, error: type[Exception], match: str, /, **parts: Any) -> InvalidCall:
        args = tuple(parts.pop(key, value) for key, value in arrays.items())
        return InvalidCall(name, lambda: (args, options | parts), error, match)

    return wrong
