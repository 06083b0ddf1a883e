"""Counted loops of JAX: kernels keep some, and write the turns of the rest out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr, JaxprEqn

from event_ops.codegen.small_arrays import Texts


@dataclass(frozen=True)
class Scan:
    """Hold a loop as JAX traced it: its constants, its carry, and arrays with an element for each turn."""

    equation: JaxprEqn
    held: list[Texts]
    carry: list[Texts]
    xs: list[Texts]

    @classmethod
    def of(cls, equation: JaxprEqn, operands: list[Texts]) -> Scan:
        """Return the loop of an equation."""
        params = equation.params
        if "num_carry" in params:
            held, count = params["num_consts"], params["num_carry"]
        else:  # from jax 0.12 on
            held, count = (len(list(x)) for x in params["ft_in"].unpack()[:2])
        return cls(equation, operands[:held], operands[held:][:count], operands[held + count :])

    @property
    def body(self) -> ClosedJaxpr:
        """Return the traced function of a turn."""
        return self.equation.params["jaxpr"]

    @property
    def turns(self) -> int:
        """Return the number of turns."""
        return self.equation.params["length"]

    @property
    def is_reverse(self) -> bool:
        """Return whether the first turn has the last elements."""
        return self.equation.params["reverse"]

    @property
    def avals(self) -> list[Any]:
        """Return shapes and dtypes of the carry, then of the outputs."""
        return [atom.aval for atom in self.equation.outvars]

    def of_turns(self) -> list[tuple[Texts, Any]]:
        """Return the rows, and the shape and dtype of an element of each."""
        return list(zip(self.xs, self.body.in_avals[-len(self.xs) :], strict=True)) if self.xs else []
