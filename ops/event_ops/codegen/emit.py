"""A function of scalars as source of Python, which Numba or Warp compiles."""

import dis
import linecache
from collections.abc import Iterable, Sequence
from hashlib import sha256
from types import ModuleType
from typing import Any, Final

import numpy as np

from event_ops.codegen.function import Traced
from event_ops.codegen.operations import Loop, Operation, walk
from event_ops.codegen.primitives import Target
from event_ops.codegen.small_arrays import TABLE, table_name, table_values


def array_names(function: Traced) -> list[str]:
    """Return the names of the arrays that the inputs of a function are read from."""
    return [f"a{i}" for i in range(len(function.places))]


def assignments(operations: Sequence[Operation | Loop], target: Target) -> list[str]:
    """Return a line for each operation; every result is cast, so that none is wider than JAX has it."""
    lines: list[str] = []
    for operation in operations:
        if isinstance(operation, Loop):
            lines += loop_lines(operation, assignments(operation.body, target), target)
        else:
            lines.append(f"{operation.result} = {_expression(operation, target)}")
    return lines


def filled(template: str, **lines_of: Sequence[str]) -> list[str]:
    """Return the lines of a template, where a line `{name}` stands for the lines of that part, indented."""
    lines: list[str] = []
    for line in template.splitlines():
        name = line.strip()
        if name.startswith("{") and name.endswith("}"):
            lines += [line[: line.index("{")] + each for each in lines_of[name[1:-1]]]
        else:
            lines.append(line)
    return lines


_LOOP: Final = """\
{begin}
for _ in range(TURNS):
    {body}
    {after}
{end}"""


def loop_lines(
    loop: Loop, body: Sequence[str], target: Target, places: Sequence[int] | None = None
) -> list[str]:
    """Return a loop around the lines of its body, which carries values at these places, by default all."""
    every = range(len(loop.carried)) if places is None else places
    names, values, dtypes = ([x[k] for k in every] for x in (loop.carried, loop.start, loop.dtypes))
    return filled(
        _LOOP.replace("TURNS", str(loop.turns)),
        begin=moves(names, values, dtypes, target),
        body=body,
        after=_after_turn(loop, every, target),
        end=[f"{loop.results[k]} = {loop.carried[k]}" for k in every],
    )


def _after_turn(loop: Loop, places: Sequence[int], target: Target) -> list[str]:
    """Return the lines that hand on the carry of a loop at these places: read before any is changed."""
    names, dtypes = [loop.carried[k] for k in places], [loop.dtypes[k] for k in places]
    read = moves([f"next_{name}" for name in names], [loop.after[k] for k in places], dtypes, target)
    return [*read, *(f"{name} = next_{name}" for name in names)]


def moves(names: Sequence[str], values: Sequence[str], dtypes: Sequence[str], target: Target) -> list[str]:
    """Return lines that copy values; a cast makes a new number of a name, as Warp needs it."""
    casts = (target.flag if dtype == "bool" else f"np.{dtype}" for dtype in dtypes)
    return [f"{name} = {cast}({x})" for name, x, cast in zip(names, values, casts, strict=True)]


def body_lines(
    target: Target,
    reads: Iterable[tuple[str, str]],
    operations: Sequence[Operation | Loop],
    writes: Iterable[tuple[str, str]],
) -> list[str]:
    """Return the lines that a loop has for an element: `name = place` for reads, operations, `place = value`.

    The target's names of dtypes take the place of NumPy's, which a program has.
    """
    inputs = (f"{name} = {place}" for name, place in reads)
    results = (f"{place} = {value}" for place, value in writes)
    lines = [*inputs, *assignments(operations, target), *results]
    return [line.replace("np.", f"{target.module}.") for line in lines]


def function_lines(
    function: Traced, target: Target, reads: Sequence[str], writes: Sequence[str]
) -> list[str]:
    """Return the lines of a whole function, from where its inputs are to where its results go."""
    inputs = ((f"x{k}", place) for k, place in enumerate(reads))
    results = zip(writes, function.program.results, strict=True)
    return body_lines(target, inputs, function.program.operations, results)


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
    texts = (x.operands[0] for x, _ in walk(function.program.operations) if x.primitive == TABLE)
    return {table_name(text): table_values(text) for text in texts}


def tuple_of(names: Sequence[str]) -> str:
    """Return the source of a tuple."""
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def defined(
    name: str, parameters: Sequence[str], body: Sequence[str], *modules: ModuleType, **outside: Any
) -> Any:
    """Return the function of these parameters and lines.

    A name that these read is in `outside`, or else in the first of the modules that has it.
    """
    source = "\n    ".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"
    namespace: dict[str, Any] = {"__name__": __name__, **outside}
    # Named by the text, so that a traceback has the lines of this function, and not those of a namesake.
    file = f"<{name} {sha256(source.encode()).hexdigest()[:16]}>"
    # Warp reads the source of a function, by the name of its file.
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), namespace)
    function = namespace[name]
    read = {x.argval for x in dis.get_instructions(function) if x.opname == "LOAD_GLOBAL"}
    for module in modules:
        namespace |= {x: vars(module)[x] for x in read - namespace.keys() if x in vars(module)}
    return function
