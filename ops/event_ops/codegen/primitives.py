"""The primitives of JAX that a function may consist of, each as a Python expression of scalars.

Numba compiles the expressions for CPUs and GPUs, and NumPy computes the same; Warp spells some of them in
another way. The operands are {0}, {1} and {2}, and the power of `integer_pow` is one, too; {cast} is the
dtype of the result, {one} is 1 in it, {tiny} its least normal number, {f} is "f" for float32 and else
nothing, {unsigned} is the dtype of integers without a sign, {last} the number of their highest bit, and
{bits} is a dtype of the other kind and as wide.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# NaN is carried through, whichever operand it is: a comparison with NaN is False.
_MAX: Final = "({0} if ({0} > {1}) | ({0} != {0}) else {1})"
_MIN: Final = "({0} if ({0} < {1}) | ({0} != {0}) else {1})"

# Of NaN it is NaN, of -0.0 it is -0.0; of what is below the normal numbers, which CPUs compare as 0, it is 0.
SIGN: Final = "({one} if {0} > {cast}(0) else (-{one} if {0} < {cast}(0) else {0} * {cast}(0)))"

# Take integers and bools, too, whose results wrap around as JAX's do.
OF_ALL: Final[Mapping[str, str]] = {
    "abs": "abs({0})",
    "add": "{0} + {1}",
    "add_any": "{0} + {1}",  # of derivatives
    "and": "{0} & {1}",
    "bitcast_convert_type": "{bits}({0}).view({cast})",
    "clamp": _MIN.format("{2}", _MAX.format("{0}", "{1}")),
    "convert_element_type": "{0}",
    "copy": "{0}",
    "div": "{0} / {1}",
    "eq": "{0} == {1}",
    "ge": "{0} >= {1}",
    "gt": "{0} > {1}",
    "le": "{0} <= {1}",
    "lt": "{0} < {1}",
    "max": _MAX,
    "min": _MIN,
    "mul": "{0} * {1}",
    "ne": "{0} != {1}",
    "neg": "-{0}",
    "or": "{0} | {1}",
    "rem": "np.fmod({0}, {1})",
    "select_n": "{2} if {0} else {1}",
    "shift_right_arithmetic": "{0} >> ({1} if {1} >= {cast}(0) and {1} < {last} else {last})",
    "sign": SIGN,
    "square": "{0} * {0}",
    "stop_gradient": "{0}",
    "sub": "{0} - {1}",
    "xor": "{0} ^ {1}",
}

OF_BOOLS: Final[Mapping[str, str]] = {"not": "not {0}"}

OF_FLOATS: Final[Mapping[str, str]] = {
    "acos": "np.arccos({0})",
    "acosh": "np.arccosh({0})",
    "asin": "np.arcsin({0})",
    "asinh": "np.arcsinh({0})",
    "atan": "np.arctan({0})",
    "atan2": "np.arctan2({0}, {1})",
    "atanh": "np.arctanh({0})",
    "cbrt": "np.cbrt({0})",
    "ceil": "np.ceil({0})",
    "cos": "np.cos({0})",
    "cosh": "np.cosh({0})",
    "erf": "math.erf({0})",
    "erfc": "math.erfc({0})",
    "exp": "np.exp({0})",
    "exp2": "np.exp2({0})",
    "expm1": "np.expm1({0})",
    "floor": "np.floor({0})",
    "integer_pow": "{0} ** {1}",
    "is_finite": "np.isfinite({0})",
    "log": "np.log({0})",
    "log1p": "np.log1p({0})",
    "logistic": "{one} / ({one} + np.exp(-{0}))",
    "pow": "{0} ** {cast}({1})",
    "round": "np.rint({0})",
    "rsqrt": "{one} / np.sqrt({0})",
    "sin": "np.sin({0})",
    "sinh": "np.sinh({0})",
    "sqrt": "np.sqrt({0})",
    "tan": "np.tan({0})",
    "tanh": "np.tanh({0})",
}

EXPRESSIONS: Final = {**OF_ALL, **OF_BOOLS, **OF_FLOATS}

# Quotients of integers are rounded towards 0, and there is one of every two: -1 for x / 0, as JAX has it, and
# no exception of the processor for the least integer over -1. Python's are rounded down.
_IS_INEXACT: Final = "({0} % {1} != {cast}(0)) & (({0} < {cast}(0)) != ({1} < {cast}(0)))"
OF_INTEGERS: Final = {
    "div": "(-{one} if {1} == {cast}(0) else (-{0} if {1} == -{one} else "
    f"{{0}} // {{1}} + {{cast}}({_IS_INEXACT})))",
    "rem": "({0} if {1} == {cast}(0) else ({cast}(0) if {1} == -{one} else "
    f"{{0}} % {{1}} - ({{1}} if {_IS_INEXACT} else {{cast}}(0))))",
}
OF_UNSIGNED: Final = {
    "div": "({0} // {1} if {1} != {cast}(0) else {cast}(0) - {one})",
    "rem": "({0} % {1} if {1} != {cast}(0) else {0})",
}

# Primitives that call a function: the parameter that holds it.
CALLS: Final[Mapping[str, str]] = {"jit": "jaxpr", "custom_jvp_call": "call_jaxpr", "remat2": "jaxpr"}


@dataclass(frozen=True)
class Target:
    """A language that expressions are spelled in.

    Args:
        module: where its dtypes and functions are; of NumPy for Numba.
        flag: its type of flags.
        only: how the one value that is for all is read.
        spellings: expressions that it has in another way; "" for what it lacks.
        of_flags: those whose results are flags.
        of_integers: those whose results are integers.
    """

    module: str
    flag: str
    only: str
    spellings: Mapping[str, str]
    of_flags: Mapping[str, str]
    of_integers: Mapping[str, str]

    def expression_of(self, primitive: str, dtype: str) -> str:
        """Return the expression of a primitive whose result has the dtype."""
        special = self.of_flags if dtype == "bool" else self.of_integers if "int" in dtype else {}
        if dtype.startswith("uint"):
            special = {**special, **OF_UNSIGNED}
        usual = self.spellings.get(primitive, EXPRESSIONS.get(primitive, ""))
        return special.get(primitive) or usual


_WARP_MAX: Final = "({0} if {0} > {1} or {0} != {0} else {1})"
_WARP_MIN: Final = "({0} if {0} < {1} or {0} != {0} else {1})"

# An element of an array that the function's source names, whose place is inside.
_OF_TABLES: Final = {"table": "{0}[np.uintp({1})]"}

# XLA has CPUs read numbers below the normal ones as 0, of which libraries' functions make something else.
_FLUSHED: Final = "({0} if abs({0}) >= {tiny} else {0} * {cast}(0))"
_OF_FLUSHED: Final = {"cbrt": f"np.cbrt({_FLUSHED})", "log": f"np.log({_FLUSHED})"}

# For CPUs: exp and pow are those of `kernels/numba_cpu`, which vectorise.
NUMBA: Final = Target(
    "np",
    "np.bool_",
    "",
    {**_OF_FLUSHED, **_OF_TABLES, "exp": "exp({0})", "pow": f"power({_FLUSHED}, {{cast}}({{1}}))"},
    {},
    OF_INTEGERS,
)

_SELECTED_MAX: Final = "select(({0} > {1}) | ({0} != {0}), {0}, {1})"
_SELECTED_MIN: Final = "select(({0} < {1}) | ({0} != {0}), {0}, {1})"

# A quotient by what is the same in all turns of a loop.
BY_SHARED: Final = "div_by_shared"

# For loops that vectorise, where exp, expm1 and tanh are functions without calls, and choices have no branch.
NUMBA_LOOPS: Final = Target(
    "np",
    "np.bool_",
    "",
    {
        **_OF_FLUSHED,
        **_OF_TABLES,
        BY_SHARED: "over({0}, {1})",
        "clamp": _SELECTED_MIN.format("{2}", _SELECTED_MAX.format("{0}", "{1}")),
        "exp": "exp({0})",
        "expm1": "expm1({0})",
        "logistic": "{one} / ({one} + exp(-{0}))",
        "max": _SELECTED_MAX,
        "min": _SELECTED_MIN,
        "pow": f"{_FLUSHED} ** {{cast}}({{1}})",
        "select_n": "select({0}, {2}, {1})",
        "sign": "select({0} > {cast}(0), {one}, select({0} < {cast}(0), -{one}, {0} * {cast}(0)))",
        "tanh": "tanh({0})",
    },
    {},
    OF_INTEGERS,
)
_IN_MATH: Final = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p", "sin",
    "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip

# There Numba has the functions of `math`, whose floor and ceil are integers, which infinity is not.
NUMBA_CUDA: Final = Target(
    "np",
    "np.bool_",
    "[0]",
    {name: f"math.{name}({{0}})" for name in _IN_MATH}
    | {
        **_OF_TABLES,
        "atan2": "math.atan2({0}, {1})",
        "cbrt": "cuda.cbrt({0})",
        "ceil": "cuda.libdevice.ceil{f}({0})",
        "exp2": "math.pow({one} + {one}, {0})",
        "floor": "cuda.libdevice.floor{f}({0})",
        "is_finite": "math.isfinite({0})",
        "logistic": "{one} / ({one} + math.exp(-{0}))",
        "rem": "math.fmod({0}, {1})",
        "round": "cuda.libdevice.rint{f}({0})",
        "rsqrt": "{one} / math.sqrt({0})",
    },
    {},
    OF_INTEGERS,
)
_WARP_FLUSHED: Final = _FLUSHED.replace("abs", "wp.abs")
WARP: Final = Target(
    "wp",
    "bool",
    "[0]",
    {
        "abs": "wp.abs({0})",
        "acos": "(wp.acos({0}) if wp.abs({0}) <= {one} else {cast}(wp.nan))",
        "acosh": "",
        "asin": "(wp.asin({0}) if wp.abs({0}) <= {one} else {cast}(wp.nan))",
        "asinh": "",
        "atan": "wp.atan({0})",
        "atan2": "wp.atan2({0}, {1})",
        "atanh": "",
        "bitcast_convert_type": "wp.cast({0}, {cast})",
        "cbrt": f"wp.cbrt({_WARP_FLUSHED})",
        "clamp": _WARP_MIN.format("{2}", _WARP_MAX.format("{0}", "{1}")),
        "erf": "wp.erf({0})",
        "erfc": "wp.erfc({0})",
        "exp2": "wp.pow({one} + {one}, {0})",
        "expm1": "",
        "integer_pow": "wp.pow({0}, {cast}({1}))",
        "log": f"wp.log({_WARP_FLUSHED})",
        "log1p": "",
        "max": _WARP_MAX,
        "min": _WARP_MIN,
        "neg": "{0} * (-{one})",  # -x is 0 - x there, which is 0 for 0, and not -0
        "pow": f"wp.pow({_WARP_FLUSHED}, {{cast}}({{1}}))",
        "rem": "wp.mod({0}, {1})",
        "round": "wp.rint({0})",
        "table": "{0}[wp.int32({1})]",
    },
    {"and": "({0} and {1})", "or": "({0} or {1})", "xor": "({0} != {1})"},
    # Sums of C++ that leave the range of int are undefined; those of unsigned integers wrap around.
    {
        "add": "{unsigned}({0}) + {unsigned}({1})",
        "div": "(-{one} if {1} == {cast}(0) else ({0} * (-{one}) if {1} == -{one} else {0} / {1}))",
        "max": "wp.max({0}, {1})",
        "min": "wp.min({0}, {1})",
        "mul": "{unsigned}({0}) * {unsigned}({1})",
        "rem": "({0} if {1} == {cast}(0) else ({cast}(0) if {1} == -{one} else {0} % {1}))",
        "square": "{unsigned}({0}) * {unsigned}({0})",
        "sub": "{unsigned}({0}) - {unsigned}({1})",
    },
)

LACKED_BY_WARP: Final = frozenset(name for name, expression in WARP.spellings.items() if not expression)
