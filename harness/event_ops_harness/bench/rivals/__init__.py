"""Offer rivals of the operators: a file for each library, which says what the library can do.

Such a file imports its library at the top, and has `OFFERS`: operator -> `(Problem) -> {name: run}`, with
everything compiled. An operator that no file names has no rival.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping

from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Run

Offers = Mapping[str, Callable[[Problem], Mapping[str, Run]]]


@functools.cache
def libraries() -> tuple[dict[str, Offers], dict[str, str]]:
    """Return what each installed library offers, and why the others are skipped."""
    offers: dict[str, Offers] = {}
    skipped: dict[str, str] = {}
    for module in pkgutil.iter_modules(__path__):
        library = module.name.removeprefix("by_")
        try:
            offers[library] = importlib.import_module(f"{__name__}.{module.name}").OFFERS
        except ImportError as error:
            skipped[library] = str(error)
    return offers, skipped


def rivals_of(problem: Problem) -> dict[str, Run]:
    """Return a run of everyone who computes this; no rival takes spike ids or packed bits."""
    if problem.kwargs.get("encoding", "flags") != "flags":
        return {}
    name, (offers, _) = problem.operator.name, libraries()
    return {
        rival: run
        for offer in offers.values()
        if name in offer
        for rival, run in offer[name](problem).items()
    }
