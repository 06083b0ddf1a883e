"""What JAX keeps while it traces and lowers a program: its names for that are here alone."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any

from jax.interpreters.partial_eval import JaxprTracer
from jaxlib.mlir.ir import Attribute, DictAttr, InsertionPoint, StringAttr


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


def divided_along(sizes: Sequence[int], ins: Sequence[Any], outs: Sequence[Any]) -> dict[str, Any]:
    """Return attributes of a foreign call whose operands and results all begin with axes of these sizes.

    XLA may divide these axes: one attribute is for what propagates shardings, one for what divides the call.
    """
    # The names that Shardy itself gives, in order.
    names = itertools.chain("ijklmnopqrstuvwxyz", (f"z_{i}" for i in itertools.count(1)))
    batch = list(itertools.islice(names, len(sizes)))
    extents = dict(zip(batch, sizes, strict=True))

    def factors(x: Any) -> str:
        own = [next(names) for _ in x.shape[len(sizes) :]]
        extents.update(zip(own, x.shape[len(sizes) :], strict=True))
        return f"[{', '.join((*batch, *own))}]"

    sides = [", ".join(map(factors, side)) for side in (ins, outs)]
    known = ", ".join(f"{name}={size}" for name, size in extents.items())
    return {
        "mhlo.frontend_attributes": DictAttr.get({"num_batch_dims": StringAttr.get(str(len(sizes)))}),
        "sdy.sharding_rule": Attribute.parse(
            f"#sdy.op_sharding_rule<({sides[0]})->({sides[1]}) {{{known}}}, custom>"
        ),
    }
