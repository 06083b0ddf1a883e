"""Errors of functions that kernels cannot compute: they name the primitive, the line, and a remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from traceback import walk_tb
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import JaxprEqn

from event_ops.codegen.primitives import EXPRESSIONS, OF_BOOLS, OF_FLOATS
from event_ops.codegen.rewritten import REWRITTEN
from event_ops.codegen.small_arrays import MOST_ELEMENTS, Texts, as_texts

_DTYPES: Final = ("bool", "float32", "float64", "int32", "int64", "uint32", "uint64")
# What to do instead, by a part of a primitive's name.
_INSTEAD: Final = {
    "callback": "a {role} has no side effects; look at what {caller} returns",
    "print": "a {role} has no side effects; look at what {caller} returns",
    "random": "{random}",
    "custom_vjp": "declare its derivatives by jax.custom_jvp, which serves both modes",
    "while": "write the steps out, by jax.lax.fori_loop with numbers of Python as its ends",
}


@dataclass(frozen=True)
class Subject:
    """Name the subject of a function, in the words of errors.

    Args:
        role: what it is called, such as "rule".
        unit: what its scalars are those of, such as "synapse".
        variable: what it changes, such as "synaptic variable".
        arrays: what has arrays that can be passed by name.
        caller: the function that it is given to.
        random: what to do for random numbers.
    """

    role: str
    unit: str
    variable: str
    arrays: str
    caller: str
    random: str = "draw numbers outside, one for each synapse, and pass them by name"

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
    outside: str = ""  # the line of the function from which something is called

    def within(self, equation: JaxprEqn) -> Source:
        """Return the source for a function that an equation calls, whose lines JAX may not know."""
        line = self._line(equation)
        return self if line == self.outside else replace(self, outside=line)

    def check(self, equation: JaxprEqn) -> None:
        """Raise ValueError unless kernels can compute the equation, of these shapes and dtypes."""
        name = equation.primitive.name
        if name not in EXPRESSIONS and name not in REWRITTEN:
            hints = (hint for part, hint in _INSTEAD.items() if part in name)
            hint = next(hints, f"write it with those that they have: {', '.join(sorted(EXPRESSIONS))}")
            hint = hint.format_map(vars(self.subject))
            raise self._error(
                equation, f"uses the primitive {name!r}, which kernels of {self.subject.role}s lack; {hint}"
            )
        self.check_arrays(equation)
        avals: list[Any] = [atom.aval for atom in (*equation.invars, *equation.outvars)]
        operand_dtype, result_dtype = str(avals[0].dtype), str(avals[-1].dtype)
        if name in OF_BOOLS:
            self._check_dtype(equation, operand_dtype, ("bool",))
        if name in OF_FLOATS:
            self._check_dtype(equation, operand_dtype, ("float32", "float64"))
        if name == "shift_right_arithmetic":
            self._check_dtype(equation, operand_dtype, ("int32", "int64"))
        if name == "bitcast_convert_type" and avals[0].dtype.itemsize != avals[-1].dtype.itemsize:
            raise self._error(equation, f"takes {operand_dtype} as {result_dtype}, which is not as wide")
        if name == "convert_element_type" and operand_dtype.startswith("float") and "int" in result_dtype:
            said = f"casts {operand_dtype} to {result_dtype}, which some values do not fit"
            raise self._error(equation, f"{said}; keep a float: jnp.floor(x)")

    def check_arrays(self, equation: JaxprEqn) -> None:
        """Raise ValueError unless the arrays of an equation are small, and of dtypes that kernels have."""
        avals: list[Any] = [atom.aval for atom in (*equation.invars, *equation.outvars)]
        for aval in avals:
            if math.prod(aval.shape) > MOST_ELEMENTS:
                said = (
                    f"computes {equation.primitive.name!r} of an array, {aval}, of more than {MOST_ELEMENTS}"
                )
                raise self._error(equation, f"{said} elements; {self.subject.expects_scalars}")
            self._check_dtype(equation, str(aval.dtype), _DTYPES)

    def too_long(self, equation: JaxprEqn, most: int) -> ValueError:
        """Return the error of a function of too many operations."""
        said = (
            f"is of more than {most} operations here, with all turns of loops and elements of arrays written"
        )
        return self._error(equation, f"{said} out; take fewer turns or elements, or find a closed form")

    def constants(self, value: Any) -> Texts:
        """Return numbers that the function holds as texts of Python; raise ValueError for too many."""
        shape = getattr(value, "shape", ())
        if isinstance(value, Tracer) or jnp.issubdtype(value.dtype, jax.dtypes.extended) or not shape:
            return as_texts([self._constant(value)], ())
        if math.prod(shape) > MOST_ELEMENTS:
            said = f"holds an array of more than {MOST_ELEMENTS} elements, {shape}"
            raise ValueError(f"{self.named} {said}; {self.subject.expects_scalars}")
        return as_texts([self._constant(x) for x in np.asarray(value).ravel()], shape)

    def _constant(self, value: Any) -> str:
        if isinstance(value, Tracer):
            raise ValueError(
                f"{self.named} reads {value.aval} from around it, where it is traced; pass it by name, as "
                f"in {self.subject.caller}(..., name=value), and take it as an argument"
            )
        if jnp.issubdtype(value.dtype, jax.dtypes.extended):
            hint = _INSTEAD["random"].format_map(vars(self.subject))
            raise ValueError(f"{self.named} holds {value.dtype}; {hint}")
        number = np.asarray(value)
        if number.dtype == bool:
            return str(bool(number))
        text = repr(number.item())
        return f"np.{number.dtype}({_NAMES.get(text, text)})"

    def _check_dtype(self, equation: JaxprEqn, dtype: str, expected: tuple[str, ...]) -> None:
        if dtype not in expected:
            said = f"computes {equation.primitive.name!r} of {dtype}; expected {' or '.join(expected)}"
            raise self._error(equation, f"{said}; cast it: x.astype('{expected[0]}')")

    def _error(self, equation: JaxprEqn, said: str) -> ValueError:
        return ValueError(f"{self.named}{self._line(equation)} {said}")

    @property
    def named(self) -> str:
        """Return the name that errors have for the function."""
        return f"the {self.subject.role} {self.name!r}"

    def _line(self, equation: JaxprEqn) -> str:
        """Return ", FILE:LINE,", the innermost line of a file of the functions, where JAX knows it."""
        traceback = equation.source_info.traceback
        codes: list[Any] = [getattr(function, "__code__", None) for function in self.functions]
        files = {code.co_filename for code in codes if code is not None}
        if traceback is None:
            return self.outside
        frames = (
            (frame.f_code.co_filename, line) for frame, line in walk_tb(traceback.as_python_traceback())
        )
        lines = [f", {file}:{line}," for file, line in frames if file in files]
        return lines[-1] if lines else self.outside


_NAMES: Final = {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}
