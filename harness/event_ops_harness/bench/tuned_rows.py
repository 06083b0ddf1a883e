"""Choose the cases that tuning measures, and make the rows of a tuning table out of them.

Measured are cases of all sizes, each at several densities of events. Of two measured sizes of one signature
the nearer one decides, by ratio: rows meet at the geometric mean. But where nothing that was measured lies on
the other side, or something else is faster there, a row reaches no farther than `REACH` times beyond its own
sizes. A backend has a row at a size if it beat the documented first one in every case of that size, at every
density; of several, the one whose smallest lead is the largest.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from event_ops.cases import BENCHMARK, Case
from event_ops.discover import Operator
from event_ops_harness.bench.noise import change_of
from event_ops_harness.bench.steps import Problem, event_place, make_problem
from event_ops_harness.conformance.kernels import equations
from ffi_bridge.operators import Signature

DENSITIES: Final = (0.001, 0.01, 0.1, 1.0)
SMALLEST: Final = 32  # elements; below, cases are about edges
APART: Final = 4  # the factor in elements between two cases of one signature


def cases(operator: Operator) -> Iterator[Case]:
    """Yield the benchmark cases, and the first further one of each size, where a benchmark has its signature.

    Sizes count as one within a factor of `APART`. Without a benchmark there would be nothing but small sizes.
    """
    signed = [(case, signature_of(make_problem(operator, case))) for case in operator.cases]
    sizes: dict[tuple[Any, ...], list[int]] = {}
    for case, signature in signed:
        if BENCHMARK in case.tags:
            sizes.setdefault((signature.dtypes, signature.flags), []).append(signature.elements or 0)
            yield case
    for case, signature in signed:
        measured, elements = sizes.get((signature.dtypes, signature.flags), []), signature.elements or 0
        far = all(max(elements, size) > APART * min(elements, size) for size in measured)
        if measured and far and elements >= SMALLEST:
            measured.append(elements)
            yield case


def signature_of(problem: Problem) -> Signature:
    """Return the signature that the bridge sees when the operator calls its kernel."""
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


MARGIN: Final = 1.1  # how many times as fast a backend must be, beyond noise, to get a row
ALPHA: Final = 0.05  # the chance that noise alone passes for a lead
REACH: Final = 4


@dataclass(frozen=True)
class Measured:
    """Hold one case. `leads`: backend -> density -> how many times as fast as `over`, if faster at all."""

    operator: str
    platform: str
    signature: Signature
    case: str
    over: str
    leads: Mapping[str, Mapping[str, float]]


def lead(first: Sequence[float], other: Sequence[float]) -> float | None:
    """Return how many times as fast the second sample is; None unless by `MARGIN` beyond noise."""
    change = change_of(first, other, ALPHA)
    return 1 / change.ratio if change.high * MARGIN < 1 else None


def rows_of(measured: Iterable[Measured]) -> list[dict[str, Any]]:
    """Return the rows, in the form of a table's file."""
    groups: dict[tuple[Any, ...], list[Measured]] = {}
    for case in measured:
        key = case.operator, case.platform, case.signature.dtypes, case.signature.flags, case.over
        groups.setdefault(key, []).append(case)
    return [row for group in groups.values() for row in _of_signature(group)]


def _of_signature(group: Sequence[Measured]) -> list[dict[str, Any]]:
    by_size: dict[int, list[Measured]] = {}
    for case in group:
        by_size.setdefault(case.signature.elements or 0, []).append(case)
    sizes = sorted(by_size)
    winners = [_winner(by_size[size]) for size in sizes]
    rows: list[dict[str, Any]] = []
    for i, (backend, leads) in enumerate(winners):
        if backend is None:
            continue
        row = _row(by_size[sizes[i]][0], _lower(sizes, i), _upper(sizes, i), backend, leads)
        # The row of the size before goes on.
        if i and winners[i - 1][0] == backend:
            rows[-1] |= {"up_to": row["up_to"], "measured": rows[-1]["measured"] | row["measured"]}
            rows[-1]["ratio"] = min(rows[-1]["measured"].values())
        else:
            rows.append(row)
    return rows


def _lower(sizes: Sequence[int], i: int) -> int:
    reach = sizes[i] // REACH
    return max(reach, math.isqrt(sizes[i - 1] * sizes[i])) if i else reach


def _upper(sizes: Sequence[int], i: int) -> int:
    reach = sizes[i] * REACH
    return min(reach, math.isqrt(sizes[i] * sizes[i + 1])) if i + 1 < len(sizes) else reach


def _winner(cases: Sequence[Measured]) -> tuple[str | None, dict[str, float]]:
    """Return the backend that leads in every case, and by how much in each."""
    able = set.intersection(*(set(case.leads) for case in cases))
    leads = {
        backend: {
            " ".join(filter(None, (case.case, density))): round(ratio, 2)
            for case in cases
            for density, ratio in case.leads[backend].items()
        }
        for backend in sorted(able)
    }
    best = max(leads, key=lambda backend: min(leads[backend].values()), default=None)
    return best, leads.get(best or "", {})


def _row(case: Measured, above: int, up_to: int, backend: str, leads: Mapping[str, float]) -> dict[str, Any]:
    return {
        "operator": case.operator,
        "platform": case.platform,
        "dtypes": case.signature.dtypes,
        "flags": list(case.signature.flags),
        "above": above,
        "up_to": up_to,
        "backend": backend,
        "over": case.over,
        "ratio": min(leads.values()),
        "measured": dict(leads),
    }
