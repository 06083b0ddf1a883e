"""Find the calls of a primitive in a traced program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax


def equations(jaxpr: Any, name: str) -> Iterator[Any]:
    """Yield the equations of the primitive `name`, in a program and in those that it calls."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == name:
            yield equation
        inner = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns"))
        for closed in inner:
            if hasattr(closed, "eqns"):
                yield from equations(closed, name)
