"""What a rule may not do: errors that name the primitive, the line of the rule, and what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import JaxprEqn

from event_ops.scalar_functions.primitives import EXPRESSIONS, OF_BOOLS, OF_FLOATS

_DTYPES: Final = ("bool", "float32", "float64", "int32", "int64", "uint32", "uint64")
_ONE_SYNAPSE: Final = "expected scalars: a rule is of one synapse; pass arrays of neurons or synapses by name"

# What to do instead, by a part of a primitive's name.
_INSTEAD: Final = {
    "callback": "a rule has no side effects; look at what on_pre and on_post return",
    "print": "a rule has no side effects; look at what on_pre and on_post return",
    "random": "draw numbers outside, one for each synapse, and pass them by name",
    "cond": "compute both values, and choose one by jnp.where",
    "custom_vjp": "declare its derivatives by jax.custom_jvp, which serves both modes",
    "while": "write the steps out, or find a closed form",
    "scan": "write the steps out, or find a closed form",
}


@dataclass(frozen=True)
class Source:
    """The function that a rule was traced from."""

    name: str
    function: Callable[..., Any]

    def check(self, equation: JaxprEqn) -> None:
        """Raise ValueError unless kernels can compute the equation, of these shapes and dtypes."""
        name = equation.primitive.name
        if name not in EXPRESSIONS:
            hints = (hint for part, hint in _INSTEAD.items() if part in name)
            hint = next(hints, f"write it with those that they have: {', '.join(sorted(EXPRESSIONS))}")
            raise self._error(equation, f"uses the primitive {name!r}, which kernels of rules lack; {hint}")
        avals: list[Any] = [atom.aval for atom in (*equation.invars, *equation.outvars)]
        for aval in avals:
            if aval.shape:
                raise self._error(equation, f"computes {name!r} of an array, {aval}; {_ONE_SYNAPSE}")
            self._check_dtype(equation, str(aval.dtype), _DTYPES)
        given, result = str(avals[0].dtype), str(avals[-1].dtype)
        if name in OF_BOOLS:
            self._check_dtype(equation, given, ("bool",))
        if name in OF_FLOATS:
            self._check_dtype(equation, given, ("float32", "float64"))
        if name == "convert_element_type" and given.startswith("float") and "int" in result:
            said = f"casts {given} to {result}, which some values do not fit; keep a float: jnp.floor(x)"
            raise self._error(equation, said)

    def constant(self, value: Any) -> str:
        """Return a number that the rule holds as text of Python; raise ValueError for what is no number."""
        if isinstance(value, Tracer):
            raise ValueError(
                f"the rule {self.name!r} reads {value.aval} from around it, where it is traced; pass it by "
                "name, as in on_pre(..., name=value), and take it as an argument"
            )
        if jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise ValueError(f"the rule {self.name!r} holds {value.dtype}; {_INSTEAD['random']}")
        number = np.asarray(value)
        if number.ndim:
            raise ValueError(f"the rule {self.name!r} holds an array, {number.shape}; {_ONE_SYNAPSE}")
        if number.dtype == bool:
            return str(bool(number))
        text = repr(number.item())
        return f"np.{number.dtype}({_NAMES.get(text, text)})"

    def _check_dtype(self, equation: JaxprEqn, given: str, expected: tuple[str, ...]) -> None:
        if given not in expected:
            said = f"computes {equation.primitive.name!r} of {given}; expected {' or '.join(expected)}"
            raise self._error(equation, f"{said}; cast it: x.astype('{expected[0]}')")

    def _error(self, equation: JaxprEqn, said: str) -> ValueError:
        return ValueError(f"the rule {self.name!r}{self._line(equation)} {said}")

    def _line(self, equation: JaxprEqn) -> str:
        """Return ", FILE:LINE,", the innermost line of the rule's file, where JAX knows it."""
        known = equation.source_info.traceback
        code: Any = getattr(self.function, "__code__", None)
        if known is None or code is None:
            return ""
        frames = walk_tb(known.as_python_traceback())
        lines = [line for frame, line in frames if frame.f_code.co_filename == code.co_filename]
        return f", {code.co_filename}:{lines[-1]}," if lines else ""


_NAMES: Final = {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}
