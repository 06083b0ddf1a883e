"""Increments: how much a reset adds to states, as `w + b` does, with a derivative through the spike."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from event_ops.codegen.operations import Loop, Operation
from event_ops.codegen.program import Program
from event_ops.codegen.refusals import Source

# Returns the states after a spike, from those before and the variables.
Reset = Callable[[Sequence[jax.Array], dict[str, jax.Array]], Sequence[jax.Array]]


def increments(
    reset: Reset, states: Sequence[jax.Array], variables: dict[str, jax.Array], source: Source
) -> list[jax.Array | None]:
    """Return the increment of each state in a reset; None for a state that it sets, or leaves as it is."""
    scalars = jax.tree.map(lambda x: jax.ShapeDtypeStruct((), x.dtype), (list(states), variables))
    program = Program.of(jax.make_jaxpr(reset)(*scalars), source)
    rises: list[jax.Array | None] = []
    for i, result in enumerate(program.results):
        # Of a sum with the state, what is added is the result where the state is 0.
        without = [jnp.zeros_like(x) if k == i else x for k, x in enumerate(states)]
        rises.append(reset(without, variables)[i] if result in _sums_that_have(f"x{i}", program) else None)
    return rises


def _sums_that_have(name: str, program: Program) -> set[str]:
    """Return the results that are the value of this name, plus or minus values that do not depend on it."""
    sums, dependent = {name}, {name}
    _follow(program.operations, sums, dependent)
    return sums - {name}


def _follow(operations: Sequence[Operation | Loop], sums: set[str], dependent: set[str]) -> None:
    """Add the results of operations to the sums with a value, and to all names that depend on it."""
    for operation in operations:
        if isinstance(operation, Loop):
            _follow_loop(operation, sums, dependent)
            continue
        if dependent.isdisjoint(operation.operands):
            continue
        dependent.add(operation.result)
        if operation.primitive in ("add", "sub"):
            first, second = operation.operands
            swapped = operation.primitive == "add" and second in sums and first not in dependent
            if swapped or (first in sums and second not in dependent):
                sums.add(operation.result)


def _follow_loop(loop: Loop, sums: set[str], dependent: set[str]) -> None:
    """Take a loop's carry for sums where it begins as one, until a turn says that it is none."""
    places = range(len(loop.carried))
    added = {k for k in places if loop.start[k] in sums}
    touched = {k for k in places if loop.start[k] in dependent}
    while True:
        inner_sums = sums | {loop.carried[k] for k in added}
        inner_dependent = dependent | {loop.carried[k] for k in touched}
        _follow(loop.body, inner_sums, inner_dependent)
        now_touched = touched | {k for k in places if loop.after[k] in inner_dependent}
        now_added = {k for k in added if loop.after[k] in inner_sums}
        if (now_added, now_touched) == (added, touched):
            break
        added, touched = now_added, now_touched
    sums.update(loop.results[k] for k in added)
    dependent.update(loop.results[k] for k in touched)
