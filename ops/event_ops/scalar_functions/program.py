"""A function as a program: assignments of scalars, one after the other, all of which kernels can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from event_ops.scalar_functions.primitives import CALLS
from event_ops.scalar_functions.refusals import Source


@dataclass(frozen=True)
class Operation:
    """`result = primitive(*operands)`, of the dtype; operands are names or numbers, as text of Python."""

    primitive: str
    operands: tuple[str, ...]
    dtype: str
    result: str


@dataclass(frozen=True)
class Program:
    """The operations of a function of x0, x1, ..., and what it returns, names or numbers.

    Equal programs compute the same, whatever the names in the function were.
    """

    operations: tuple[Operation, ...]
    results: tuple[str, ...]
    has_own_derivatives: bool  # by jax.custom_jvp or stop_gradient, not those of the operations

    @classmethod
    def of(cls, traced: ClosedJaxpr, source: Source) -> Program:
        """Return the program of a function that was traced; raise ValueError for what kernels cannot do."""
        flat = _Flat(source)
        inputs = [f"x{i}" for i in range(len(traced.jaxpr.invars))]
        results = flat.add(traced.jaxpr, traced.consts, inputs)
        return cls(tuple(flat.operations.values()), tuple(results), flat.has_own_derivatives)


@dataclass
class _Flat:
    """The operations of a function and of those that it calls."""

    source: Source
    operations: dict[tuple[Any, ...], Operation] = field(default_factory=dict)  # by all but the result
    has_own_derivatives: bool = False

    def add(self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[str]) -> list[str]:
        """Add the operations of `jaxpr`; return its results."""
        names: dict[Var, str] = dict(zip(jaxpr.invars, inputs, strict=True))
        names.update(zip(jaxpr.constvars, map(self.source.constant, consts), strict=True))

        def text_of(atom: Any) -> str:
            return self.source.constant(_number(atom)) if isinstance(atom, Literal) else names[atom]

        for equation in jaxpr.eqns:
            operands = list(map(text_of, equation.invars))
            called = CALLS.get(equation.primitive.name)
            if called is None:
                self.source.check(equation)
                names[equation.outvars[0]] = self._operation(equation, operands)
            else:
                self.has_own_derivatives |= equation.primitive.name == "custom_jvp_call"
                inner = equation.params[called]
                body, held = (inner.jaxpr, inner.consts) if isinstance(inner, ClosedJaxpr) else (inner, ())
                names.update(zip(equation.outvars, self.add(body, held, operands), strict=True))
        return list(map(text_of, jaxpr.outvars))

    def _operation(self, equation: JaxprEqn, operands: Sequence[str]) -> str:
        result: Any = equation.outvars[0].aval
        name, dtype, power = equation.primitive.name, str(result.dtype), equation.params.get("y")
        if name == "stop_gradient":
            self.has_own_derivatives = True
            return operands[0]
        if name == "select_n" and len(set(operands[1:])) == 1:
            return operands[1]
        if power is None:
            return self._assign(name, operands, dtype)
        positive = self._assign(name, (*operands, str(abs(power))), dtype)
        # Numba refuses 0 to a negative power.
        return positive if power >= 0 else self._assign("div", (f"np.{dtype}(1)", positive), dtype)

    def _assign(self, primitive: str, operands: Sequence[str], dtype: str) -> str:
        operation = Operation(primitive, tuple(operands), dtype, f"v{len(self.operations)}")
        return self.operations.setdefault((primitive, operation.operands, dtype), operation).result


def _number(literal: Any) -> np.ndarray:
    return np.asarray(literal.val, literal.aval.dtype)
