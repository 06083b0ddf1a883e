"""Operations and loops of a program: assignments of scalars, which kernels do in this order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Operation:
    """`result = primitive(*operands)`, of the dtype; operands are names or numbers, as text of Python."""

    primitive: str
    operands: tuple[str, ...]
    dtype: str
    result: str


@dataclass(frozen=True)
class Loop:
    """`carried = start`, in each turn the body and `carried = after`, and at the end `results = carried`.

    Nothing behind the loop reads names of the body.
    """

    turns: int
    carried: tuple[str, ...]
    dtypes: tuple[str, ...]
    start: tuple[str, ...]
    body: tuple[Operation | Loop, ...]
    after: tuple[str, ...]
    results: tuple[str, ...]


def walk(operations: Sequence[Operation | Loop], times: int = 1) -> Iterator[tuple[Operation, int]]:
    """Yield each operation, also in loops, with its number of repetitions."""
    for operation in operations:
        if isinstance(operation, Loop):
            yield from walk(operation.body, times * operation.turns)
        else:
            yield operation, times


def renamed(operation: Operation | Loop, names: dict[str, str]) -> Any:
    """Return an operation or a loop with new names of values."""

    def new(each: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(x, x) for x in each)

    if isinstance(operation, Operation):
        (result,) = new((operation.result,))
        return replace(operation, operands=new(operation.operands), result=result)
    body = tuple(renamed(x, names) for x in operation.body)
    carried, start, after = new(operation.carried), new(operation.start), new(operation.after)
    return replace(
        operation, carried=carried, start=start, body=body, after=after, results=new(operation.results)
    )


def names_read(operations: Sequence[Operation | Loop]) -> Iterator[str]:
    """Yield the operands of all operations, and of loops the values that are carried in and on."""
    for operation in operations:
        if isinstance(operation, Loop):
            yield from (*operation.start, *operation.after)
            yield from names_read(operation.body)
        else:
            yield from operation.operands


def names_in(operations: Sequence[Operation | Loop]) -> Iterator[str]:
    """Yield the name of each value that the operations assign, also in loops."""
    for operation in operations:
        if isinstance(operation, Operation):
            yield operation.result
        else:
            yield from (*operation.carried, *operation.results, *names_in(operation.body))
