"""Errors of code that needs a value where there is none, as `np.exp(V)` and `if V > 0`, with a remedy."""

import ast
import linecache
import math
from itertools import islice
from traceback import walk_tb
from types import FrameType
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.codegen.refusals import Source

_LIBRARIES: Final = {"event_ops", "jax", "jaxlib", "numpy"}
_JAX_ERRORS: Final = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
# What Python and JAX say by errors of other kinds.
_SAID: Final = (
    "Tracer",
    "Only integer scalar arrays can be converted to a scalar index",
    "iteration over a 0-d array",
    "len() of unsized object",
    "array is 0-dimensional, but",
    "setting an array element with a sequence",
)
_BUILTINS: Final = {
    "bool": "compare it: V != 0",
    "complex": "a function has real numbers",
    "float": "leave it out, as the value is a number already",
    "format": "a function has no text",
    "int": "round it: jnp.floor(V), or jnp.trunc(V)",
    "len": "a scalar has no length",
    "max": "use jnp.maximum",
    "min": "use jnp.minimum",
    "range": "write down a number of turns that no argument decides",
    "str": "a function has no text",
    "sum": "use +",
}


def explain(error: Exception, source: Source) -> None:
    """Have an error of tracing name the function, the line, the mistake, and a remedy."""
    if str(error).startswith(source.named):
        return
    needs_value = isinstance(error, _JAX_ERRORS) or any(text in str(error) for text in _SAID)
    frames = [
        (frame, line, index)
        for (frame, line), index in zip(walk_tb(error.__traceback__), _indices(error), strict=True)
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _LIBRARIES
    ]
    if not frames:
        return
    frame, line, index = frames[-1]
    at = f"{frame.f_code.co_filename}:{line}"
    if not needs_value:
        error.add_note(f"Raised as {source.named} was traced, at {at}: each argument is one number.")
        return
    said, remedy = _remedy(_text_at(frame, index), frame, linecache.getline(frame.f_code.co_filename, line))
    remedy = remedy or source.subject.expects_scalars
    unknown = f"where values are not known yet: it is traced by JAX, once for all {source.subject.unit}s"
    error.args = (f"{source.named}, {at}, {said}, {unknown}; {remedy}",)
    error.add_note("Where it branches, use jnp.where; for functions of np and math, use those of jnp.")


def _indices(error: Exception) -> list[int]:
    indices, traceback = [], error.__traceback__
    while traceback is not None:
        indices.append(traceback.tb_lasti)
        traceback = traceback.tb_next
    return indices


def _text_at(frame: FrameType, index: int) -> str:
    """Return the source that a frame executes, in one line; "" if it is not known."""
    # A code unit of CPython, for each of which there is a position, has two bytes.
    position: Any = next(islice(frame.f_code.co_positions(), index // 2, None), (None,) * 4)
    first, last, start, end = position
    if None in position:
        return ""
    lines = [linecache.getline(frame.f_code.co_filename, line) for line in range(first, last + 1)]
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][start:]
    return " ".join(line.decode().strip() for line in encoded)


def _remedy(text: str, frame: FrameType, line: str) -> tuple[str, str]:
    """Return the error's words for an expression, and a remedy, "" if none is known."""
    said = f"computes `{text}`" if text else "needs the value of an argument"
    try:
        node: Any = ast.parse(text, mode="eval").body
    except SyntaxError:
        node = None
    if isinstance(node, ast.Call):
        return f"calls `{text}`", _of_call(node, frame)
    if isinstance(node, ast.Subscript):
        return said, "a scalar has no elements; of a list of numbers choose by jnp.where or jnp.select"
    if line.split()[:1] == ["while"]:
        return f"loops while `{text}`", "write the steps out, or choose by jnp.where whether one counts"
    if line.split()[:1] == ["for"]:
        return "loops over a scalar", "write down a number of turns: for _ in range(4)"
    if isinstance(node, ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
        return said, "use & and | of flags in brackets: (V > 0) & (V < 1)"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return said, "use ~ of a flag in brackets: ~(V > 0)"
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return said, "compare with each: (V == 1) | (V == 2)"
    if isinstance(node, ast.Compare | ast.Name | ast.Attribute):
        return f"branches on `{text}`", "choose between two values by jnp.where"
    return said, ""


def _of_call(call: ast.Call, frame: FrameType) -> str:
    """Return the remedy for a call."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("item", "tolist"):
        return "leave it out, as the value is a number already"
    try:
        # The code has just looked up the same.
        function = eval(ast.unparse(call.func), frame.f_globals, dict(frame.f_locals))
    except Exception:  # whatever reading a name of somebody's code may raise
        return ""
    name = getattr(function, "__name__", "")
    module = str(getattr(function, "__module__", "") or "").partition(".")[0]
    if isinstance(function, type) and issubclass(function, np.generic):
        return f"cast it: V.astype(jnp.{name})"
    if module == "builtins" and name in _BUILTINS:
        return _BUILTINS[name]
    if module in ("math", "numpy") or isinstance(function, np.ufunc) or function is getattr(math, name, None):
        return f"use jnp.{name}" if hasattr(jnp, name) else "write it with functions of jnp"
    return ""
