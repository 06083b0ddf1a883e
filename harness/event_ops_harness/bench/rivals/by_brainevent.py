"""BrainEvent under `jax.jit`: products of numbers and events with stored, dense and generated matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import brainevent
import jax.numpy as jnp

from event_ops_harness.bench.steps import Problem, steps_of
from event_ops_harness.bench.timing import Steps

DISTRIBUTIONS: Final = ("brainevent", "jax")
_CSR: Final = ("csr_event_matmat", "csr_event_matvec", "csr_matmat", "csr_matvec")


def _product(problem: Problem) -> Steps:
    """Multiply with a CSR, which must be built outside of jit, and so must the scratch that it keeps."""
    wrap = brainevent.BinaryArray if "event" in problem.operator.name else jnp.asarray
    matrix = brainevent.CSR(problem.args[:3], shape=problem.kwargs["shape"])

    def product(*args: Any) -> Any:
        x = args[-1]
        return (wrap(x.T) @ matrix).T if problem.kwargs.get("transpose") else matrix @ wrap(x)

    product(*problem.on_device)
    return steps_of(problem, product)


def _dense(problem: Problem) -> Steps:
    def product(weights: Any, events: Any) -> Any:
        active = brainevent.BinaryArray(events)
        return active @ weights if problem.kwargs.get("transpose") else weights @ active

    return steps_of(problem, product)


def _generated(problem: Problem) -> Steps | None:
    """Multiply with a matrix that is not stored: from another generator, so another matrix of the kind."""
    if problem.kwargs["distribution"] != "constant":
        return None
    weight, seed, _ = problem.on_device
    kind = weight, problem.kwargs["prob"], int(seed)
    matrix = brainevent.JITCScalarR(kind, shape=problem.kwargs["shape"])
    wrap = brainevent.BinaryArray if problem.args[2].dtype == bool else jnp.asarray

    def product(weight: Any, seed: Any, x: Any) -> Any:
        return wrap(x) @ matrix if problem.kwargs["transpose"] else matrix @ wrap(x)

    return replace(steps_of(problem, product), values=None)


OFFERS: Final = {name: {"BrainEvent": _product} for name in _CSR} | {
    "dense_event_matvec": {"BrainEvent": _dense},
    "procedural_event_matvec": {"BrainEvent": _generated},
    "procedural_matvec": {"BrainEvent": _generated},
}
