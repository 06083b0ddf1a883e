"""What JAX keeps while it traces and lowers a program: its names for that are here alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from jax.interpreters.partial_eval import JaxprTracer
from jaxlib.mlir.ir import InsertionPoint


def is_linearized(tangents: Sequence[Any]) -> bool:
    """Return whether JAX traces a derivative as a program of tangents, which mostly is transposed then."""
    return any(isinstance(x, JaxprTracer) for x in tangents)


def leave_results(ctx: Any, call: Hashable, results: Sequence[Any]) -> None:
    """Leave the results of a call for those that follow in the same block of a program."""
    ctx.module_context.cached_primitive_lowerings[_here(call)] = results


def results_left(ctx: Any, call: Hashable) -> Sequence[Any] | None:
    """Return what was left for a call like this one in the block that is lowered; None if nothing was."""
    return ctx.module_context.cached_primitive_lowerings.get(_here(call))


def _here(call: Hashable) -> Hashable:
    current: Any = InsertionPoint.current
    return _here, current.block, call
