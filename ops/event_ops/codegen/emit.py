"""A function of scalars as source of Python, which Numba or Warp compiles."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import Target
from event_ops.codegen.program import Operation
from event_ops.codegen.small_arrays import TABLE, table_name, table_values


def array_names(function: Traced) -> list[str]:
    """Return the names of the arrays that the inputs of a function are read from."""
    return [f"a{i}" for i in range(len(function.places))]


def assignments(operations: Sequence[Operation], target: Target) -> list[str]:
    """Return a line for each operation; every result is cast, so that none is wider than JAX has it."""
    return [f"{operation.result} = {_expression(operation, target)}" for operation in operations]


def spelled(lines: Sequence[str], target: Target) -> list[str]:
    """Return lines with the target's names of dtypes, which are NumPy's in a program."""
    return [line.replace("np.", f"{target.module}.") for line in lines]


def _expression(operation: Operation, target: Target) -> str:
    dtype = operation.dtype
    cast = target.flag if dtype == "bool" else f"np.{dtype}"
    named = {"cast": cast, "one": f"{cast}(1)", "unsigned": f"np.u{dtype.removeprefix('u')}"}
    if dtype != "bool":
        other = "int" if dtype.startswith("float") else "float"
        bits = 8 * np.dtype(dtype).itemsize
        named |= {"bits": f"np.{other}{bits}", "last": f"{cast}({bits - 1})"}
    if dtype.startswith("float"):
        named |= {"f": "f" * (dtype == "float32"), "tiny": f"{cast}({float(np.finfo(dtype).tiny)!r})"}
    operands = list(operation.operands)
    if operation.primitive == TABLE:
        operands[0] = table_name(operands[0])
    expression = target.expression_of(operation.primitive, dtype).format(*operands, **named)
    return f"{cast}({expression})"


def tables_of(function: Traced) -> dict[str, np.ndarray]:
    """Return name -> values of the tables that the source of a function reads."""
    texts = (x.operands[0] for x in function.program.operations if x.primitive == TABLE)
    return {table_name(text): table_values(text) for text in texts}


def tuple_of(names: Sequence[str]) -> str:
    """Return the source of a tuple."""
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def function_source(name: str, parameters: list[str], body: list[str]) -> str:
    """Return the source of a function."""
    return "\n    ".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"


def defined(source: str, name: str, **outside: Any) -> Any:
    """Return the function of a source, which calls what is `outside` by these names."""
    namespace, file = (
        {"__name__": __name__, **outside},
        f"<{name} {sha256(source.encode()).hexdigest()[:16]}>",
    )
    # Warp reads the source of a function, by the name of its file.
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), namespace)
    return namespace[name]
