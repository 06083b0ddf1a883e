"""Offer rivals of the operators: a file for each library, which lists the operators that it computes.

Such a file imports its library at the top. Its `OFFERS` are operator -> rival -> `(Problem) -> Steps`,
compiled, or None where the rival does not compute this case. An operator that no file names has no rival.
"""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping

from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Steps

Make = Callable[[Problem], Steps | None]
Offers = Mapping[str, Mapping[str, Make]]


@functools.cache
def libraries() -> tuple[dict[str, Offers], dict[str, str]]:
    """Return the offers of each installed library, and why libraries are skipped."""
    offers: dict[str, Offers] = {}
    skipped: dict[str, str] = {}
    for module in pkgutil.iter_modules(__path__):
        library = module.name.removeprefix("by_")
        try:
            offers[library] = importlib.import_module(f"{__name__}.{module.name}").OFFERS
        except ImportError as error:
            skipped[library] = str(error)
    return offers, skipped


def rivals_of(operator: str) -> dict[str, Make]:
    """Return the rivals that compute this operator, in some of its cases at least."""
    return {name: make for offer in libraries()[0].values() for name, make in offer.get(operator, {}).items()}
