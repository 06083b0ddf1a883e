"""Offer rivals of the operators: a file for each library, which lists the operators that it computes.

Such a file imports its library at the top. Its `OFFERS` are operator -> rival -> `(Problem) -> Steps`,
compiled, or None where the rival does not compute this case; figures depend on the versions of
`DISTRIBUTIONS`. An operator that no file names has no rival.
"""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Steps

Make = Callable[[Problem], Steps | None]


@dataclass(frozen=True)
class Rival:
    """Hold how a rival computes an operator, and the distributions that it needs."""

    make: Make
    distributions: tuple[str, ...]


@functools.cache
def libraries() -> tuple[dict[str, Mapping[str, Mapping[str, Rival]]], dict[str, str]]:
    """Return the offers of each installed library, and why libraries are skipped."""
    offers: dict[str, Mapping[str, Mapping[str, Rival]]] = {}
    skipped: dict[str, str] = {}
    for module in pkgutil.iter_modules(__path__):
        library = module.name.removeprefix("by_")
        try:
            found = importlib.import_module(f"{__name__}.{module.name}")
        except ImportError as error:
            skipped[library] = str(error)
            continue
        offers[library] = {
            operator: {name: Rival(make, found.DISTRIBUTIONS) for name, make in makers.items()}
            for operator, makers in found.OFFERS.items()
        }
    return offers, skipped


def rivals_of(operator: str) -> dict[str, Rival]:
    """Return the rivals that compute this operator, in some of its cases at least."""
    return {
        name: rival for offer in libraries()[0].values() for name, rival in offer.get(operator, {}).items()
    }
