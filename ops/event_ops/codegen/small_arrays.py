"""Arrays of a few elements in a function of scalars, like a table: each element by itself."""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from hashlib import sha256
from typing import Any, Final

import jax
import numpy as np
from jax.extend.core import JaxprEqn

MOST_ELEMENTS: Final = 1024  # each of which may be an operation
# The primitive that reads an element of numbers that are known, whose first operand is all of them as text.
TABLE: Final = "table"

# Names and numbers as text, in the shape of the array; and what adds an operation of such a text.
Texts = np.ndarray[Any, Any]
Assign = Callable[[str, Sequence[str], str], str]

_MOVES: Final = {
    "broadcast_in_dim", "concatenate", "expand_dims", "iota", "pad", "reshape", "rev", "slice", "split",
    "squeeze", "stack", "transpose",
}  # fmt: skip
_FOLDS: Final = {
    "reduce_and": "and",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_or": "or",
    "reduce_prod": "mul",
    "reduce_sum": "add",
}
ON_ARRAYS: Final = {*_MOVES, *_FOLDS, "argmax", "argmin", "cumsum", "dynamic_slice"}
_NUMBER: Final = re.compile(r"np\.(\w+)\((-?\d+)\)")
_LITERAL: Final = re.compile(r"np\.(float|u?int)\d+\([^()]*\)")
_OF_INTEGERS: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "convert_element_type": lambda x: x,
    "copy": lambda x: x,
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "or": np.bitwise_or,
    "sub": np.subtract,
    "xor": np.bitwise_xor,
}


def table_name(text: str) -> str:
    """Return the name that a table has in the source of a kernel."""
    return f"table_{sha256(text.encode()).hexdigest()[:16]}"


def table_values(text: str) -> Texts:
    """Return the numbers of a table."""
    dtype, _, numbers = text.partition(": ")
    values = [float(x[x.index("(") + 1 : -1].replace("np.", "")) for x in numbers.split(", ")]
    if "int" in dtype:
        values = [int(x[x.index("(") + 1 : -1]) for x in numbers.split(", ")]
    return np.array(values, dtype)


def is_table(texts: Texts) -> bool:
    """Return whether all elements of an array are known, and enough for a table."""
    return texts.ndim == 1 and texts.size > 2 and all(_LITERAL.fullmatch(x) for x in texts)


def of_numbers(primitive: str, operands: Sequence[str], dtype: str) -> str | None:
    """Return the integer or flag that an operation makes of known ones; None: they are not known."""
    if primitive == "select_n" and operands[0] in ("True", "False"):
        return operands[1 + (operands[0] == "True")]
    if primitive not in _OF_INTEGERS or not (dtype == "bool" or "int" in dtype):
        return None
    numbers = [_integer(x) for x in operands]
    if None in numbers:
        return None
    # Integers wrap around in silence, as those of JAX do.
    with np.errstate(over="ignore"):
        number = _OF_INTEGERS[primitive](*numbers).astype(dtype)
    return str(bool(number)) if dtype == "bool" else f"np.{dtype}({number})"


def _integer(text: str) -> Any:
    match = _NUMBER.fullmatch(text)
    if text in ("True", "False"):
        return np.bool_(text == "True")
    return np.dtype(match[1]).type(int(match[2])) if match and "int" in match[1] else None


def as_texts(values: Sequence[str] | Texts, shape: tuple[int, ...]) -> Texts:
    """Return texts in a shape."""
    texts = np.empty(len(values), object)
    texts[:] = values
    return texts.reshape(shape)


def in_shapes(texts: Sequence[str], like: Sequence[Texts]) -> list[Texts]:
    """Return texts in the shapes of these arrays, in a row."""
    ends = np.cumsum([0, *(x.size for x in like)])
    return [as_texts(texts[a:b], x.shape) for a, b, x in zip(ends, ends[1:], like, strict=False)]


def array_results(equation: JaxprEqn, operands: Sequence[Texts], assign: Assign) -> list[Texts] | None:
    """Return the results of a primitive on arrays, element by element; None if they are not known."""
    name, params = equation.primitive.name, equation.params
    avals: list[Any] = [atom.aval for atom in (*equation.invars, *equation.outvars)]
    dtype = str(avals[-1].dtype)
    if name == "iota":
        numbers = np.broadcast_to(_iota(params), params["shape"])
        return [as_texts([f"np.{dtype}({x})" for x in numbers.ravel()], numbers.shape)]
    if name in _MOVES:
        return _moved(equation, operands)
    if name in _FOLDS:
        return [_folded(operands[0], params["axes"], lambda x, y: assign(_FOLDS[name], (x, y), dtype))]
    if name == "cumsum" and operands[0].ndim == 1 and not params["reverse"]:
        sums = list(operands[0][:1])
        for x in operands[0][1:]:
            sums.append(assign("add", (sums[-1], x), dtype))
        return [as_texts(sums, operands[0].shape)]
    if name in ("argmax", "argmin") and operands[0].ndim == 1:
        compare = "gt" if name == "argmax" else "lt"
        return [as_texts([_place_of(operands[0], str(avals[0].dtype), dtype, compare, assign)], ())]
    if name == "dynamic_slice" and params["slice_sizes"] == (1,) and is_table(operands[0]):
        index = str(avals[1].dtype)
        inside = f"np.{index}(0)", operands[1].item(), f"np.{index}({operands[0].size - 1})"
        text = f"{dtype}: {', '.join(operands[0])}"
        return [as_texts([assign(TABLE, (text, assign("clamp", inside, index)), dtype)], (1,))]
    if name == "dynamic_slice" and operands[0].ndim == 1:
        return [
            _from(
                operands[0], operands[1].item(), params["slice_sizes"][0], str(avals[1].dtype), dtype, assign
            )
        ]
    return None


def _iota(params: dict[str, Any]) -> np.ndarray:
    ends = [1] * len(params["shape"])
    ends[params["dimension"]] = -1
    return np.arange(params["shape"][params["dimension"]]).reshape(ends)


def _moved(equation: JaxprEqn, operands: Sequence[Texts]) -> list[Texts]:
    """Return elements where a primitive moves them: it does so with their numbers."""
    ends = np.cumsum([0, *(x.size for x in operands)])
    ids = [
        np.arange(start, end, dtype=np.int32).reshape(x.shape)
        for start, end, x in zip(ends, ends[1:], operands, strict=False)
    ]
    # Now, also where the function is traced within another program.
    with jax.ensure_compile_time_eval():
        moved = equation.primitive.bind(*map(jax.numpy.asarray, ids), **equation.params)
    texts = np.concatenate([x.ravel() for x in operands])
    several = moved if isinstance(moved, list | tuple) else [moved]
    return [as_texts(texts[np.asarray(x).ravel()], x.shape) for x in several]


def _folded(texts: Texts, axes: Sequence[int], join: Callable[[str, str], str]) -> Texts:
    rest = [axis for axis in range(texts.ndim) if axis not in axes]
    rows = texts.transpose(*rest, *axes).reshape(*(texts.shape[axis] for axis in rest), -1)
    folded = [reduce(join, row) for row in rows.reshape(-1, rows.shape[-1])]
    return as_texts(folded, rows.shape[:-1])


def _place_of(texts: Texts, dtype_of_elements: str, dtype: str, compare: str, assign: Assign) -> str:
    """Return the first place of the largest or smallest element, or the first NaN."""
    place, best = f"np.{dtype}(0)", texts[0]
    for k, x in enumerate(texts[1:], 1):
        if dtype_of_elements == "bool":  # found if none before is
            lower, higher = (best, x) if compare == "gt" else (x, best)
            better = assign("and", (assign("not", (lower,), "bool"), higher), "bool")
        else:
            is_nan = assign("ne", (x, x), "bool")
            was_number = assign("eq", (best, best), "bool")
            either = assign("or", (assign(compare, (x, best), "bool"), is_nan), "bool")
            better = assign("and", (either, was_number), "bool")
        place = assign("select_n", (better, place, f"np.{dtype}({k})"), dtype)
        best = assign("select_n", (better, best, x), dtype_of_elements)
    return place


def _from(texts: Texts, start: str, size: int, index: str, dtype: str, assign: Assign) -> Texts:
    """Return `size` elements from `start` on, which is moved into the array."""
    chosen = texts[:size]
    for k in range(1, texts.size - size + 1):
        here = assign("ge", (start, f"np.{index}({k})"), "bool")
        pairs = zip(chosen, texts[k : k + size], strict=True)
        chosen = as_texts([assign("select_n", (here, old, new), dtype) for old, new in pairs], (size,))
    return chosen
