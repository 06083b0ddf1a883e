"""What a function may not do: errors that name the primitive, the line, and what to do instead."""

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
# What to do instead, by a part of a primitive's name.
_INSTEAD: Final = {
    "callback": "a {role} has no side effects; look at what {caller} returns",
    "print": "a {role} has no side effects; look at what {caller} returns",
    "random": "draw numbers outside, one for each {unit}, and pass them by name",
    "cond": "compute both values, and choose one by jnp.where",
    "custom_vjp": "declare its derivatives by jax.custom_jvp, which serves both modes",
    "while": "write the steps out, or find a closed form",
    "scan": "write the steps out, or find a closed form",
}


@dataclass(frozen=True)
class Subject:
    """Words of errors for what a function is about.

    Args:
        role: what it is called, such as "rule".
        unit: what its scalars are those of, such as "synapse".
        variable: what it changes, such as "synaptic variable".
        arrays: what has arrays that can be passed by name.
        caller: the function that it is given to.
    """

    role: str
    unit: str
    variable: str
    arrays: str
    caller: str

    @property
    def expects_scalars(self) -> str:
        """Say that a function has no arrays."""
        return f"expected scalars: a {self.role} is of one {self.unit}; pass arrays of {self.arrays} by name"


@dataclass(frozen=True)
class Source:
    """The functions that something was traced from, the first of which has the name."""

    name: str
    functions: tuple[Callable[..., Any], ...]
    subject: Subject

    def check(self, equation: JaxprEqn) -> None:
        """Raise ValueError unless kernels can compute the equation, of these shapes and dtypes."""
        name = equation.primitive.name
        if name not in EXPRESSIONS:
            hints = (hint for part, hint in _INSTEAD.items() if part in name)
            hint = next(hints, f"write it with those that they have: {', '.join(sorted(EXPRESSIONS))}")
            hint = hint.format_map(vars(self.subject))
            raise self._error(
                equation, f"uses the primitive {name!r}, which kernels of {self.subject.role}s lack; {hint}"
            )
        avals: list[Any] = [atom.aval for atom in (*equation.invars, *equation.outvars)]
        for aval in avals:
            if aval.shape:
                raise self._error(
                    equation, f"computes {name!r} of an array, {aval}; {self.subject.expects_scalars}"
                )
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
        """Return a number that the function holds as text of Python; raise ValueError if it is none."""
        if isinstance(value, Tracer):
            raise ValueError(
                f"{self.named} reads {value.aval} from around it, where it is traced; pass it by name, as "
                f"in {self.subject.caller}(..., name=value), and take it as an argument"
            )
        if jnp.issubdtype(value.dtype, jax.dtypes.extended):
            hint = _INSTEAD["random"].format_map(vars(self.subject))
            raise ValueError(f"{self.named} holds {value.dtype}; {hint}")
        number = np.asarray(value)
        if number.ndim:
            raise ValueError(f"{self.named} holds an array, {number.shape}; {self.subject.expects_scalars}")
        if number.dtype == bool:
            return str(bool(number))
        text = repr(number.item())
        return f"np.{number.dtype}({_NAMES.get(text, text)})"

    def _check_dtype(self, equation: JaxprEqn, given: str, expected: tuple[str, ...]) -> None:
        if given not in expected:
            said = f"computes {equation.primitive.name!r} of {given}; expected {' or '.join(expected)}"
            raise self._error(equation, f"{said}; cast it: x.astype('{expected[0]}')")

    def _error(self, equation: JaxprEqn, said: str) -> ValueError:
        return ValueError(f"{self.named}{self._line(equation)} {said}")

    @property
    def named(self) -> str:
        """Return what errors call the function."""
        return f"the {self.subject.role} {self.name!r}"

    def _line(self, equation: JaxprEqn) -> str:
        """Return ", FILE:LINE,", the innermost line of a file of the functions, where JAX knows it."""
        known = equation.source_info.traceback
        codes: list[Any] = [getattr(function, "__code__", None) for function in self.functions]
        files = {code.co_filename for code in codes if code is not None}
        if known is None:
            return ""
        frames = ((frame.f_code.co_filename, line) for frame, line in walk_tb(known.as_python_traceback()))
        lines = [f", {file}:{line}," for file, line in frames if file in files]
        return lines[-1] if lines else ""


_NAMES: Final = {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}
