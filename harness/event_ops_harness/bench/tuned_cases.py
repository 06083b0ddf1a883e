"""Choose what tuning measures: cases over all sizes, each at several densities of events."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, Final

import jax
import numpy as np

from event_ops.cases import BENCHMARK, Case
from event_ops.discover import Operator
from event_ops_harness.bench.steps import Problem, event_place, make_problem
from event_ops_harness.conformance.equations import equations
from ffi_bridge.operators import Signature

DENSITIES: Final = (0.001, 0.01, 0.1, 1.0)
SMALLEST: Final = 32  # elements; below, cases are about edges
APART: Final = 4  # the factor in elements between two cases of one signature


def cases(operator: Operator) -> Iterator[Case]:
    """Yield the benchmark cases, and the first other one of each size, where a benchmark has its signature.

    Sizes count as one within a factor of `APART`. Without a benchmark there would be nothing but small sizes.
    """
    found = [(case, signature_of(make_problem(operator, case))) for case in operator.cases]
    sizes: dict[tuple[Any, ...], list[int]] = {}
    for case, signature in found:
        if BENCHMARK in case.tags:
            sizes.setdefault((signature.dtypes, signature.flags), []).append(signature.elements or 0)
            yield case
    for case, signature in found:
        measured, elements = sizes.get((signature.dtypes, signature.flags), []), signature.elements or 0
        far = all(max(elements, size) > APART * min(elements, size) for size in measured)
        if measured and far and elements >= SMALLEST:
            measured.append(elements)
            yield case


def signature_of(problem: Problem) -> Signature:
    """Return what the bridge sees of the call that the operator makes of its own kernel."""
    name = problem.operator.name
    jaxpr = jax.make_jaxpr(functools.partial(problem.operator.function, **problem.kwargs))(*problem.args)
    equation = next(equations(jaxpr.jaxpr, name), None)
    if equation is None:
        raise LookupError(
            f"operator {name!r}, case {problem.case.name!r}: it does not call a kernel {name!r}"
        )
    ins, outs = ([x.aval for x in xs] for xs in (equation.invars, equation.outvars))
    return Signature.of(dict(equation.params["call"].static), ins, outs)


def at_densities(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Yield the problem as it is made; then at each density, where its events can be made anew."""
    yield "", problem
    place = event_place(problem.operator, problem.args)
    if place is None:
        return
    for density in DENSITIES:
        events = _events(np.asarray(problem.args[place]), density)
        if events is not None:
            args = (*problem.args[:place], events, *problem.args[place + 1 :])
            yield f"density {density:g}", dataclasses.replace(problem, args=args)


def _events(like: np.ndarray, density: float) -> np.ndarray | None:
    rng = np.random.default_rng(2)
    if like.dtype == np.uint32:  # packed
        bits = rng.random((like.size, 32)) < density
        return np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32).reshape(like.shape)
    if like.dtype.kind not in "bf":  # ids, whose range the array does not tell
        return None
    return (rng.random(like.shape) < density).astype(like.dtype)
