"""Visits: passes with a message that is made of a given one, like its derivatives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.codegen.function import Traced
from event_ops.codegen.operations import Loop, Operation
from event_ops.codegen.program import Program
from event_ops.codegen.refusals import Source
from event_ops.messages.passes import NO_MESH, SUBJECT, SWAPPED, Axes, Pass, Result, call

_KEPT = 1024  # messages
Scalars = Callable[..., Any]


class Visit:
    """A pass that is put together: inputs of a new message, with their arrays."""

    def __init__(self, of: Pass, inputs: Sequence[Any]) -> None:
        self.of, self.inputs = of, list(inputs)
        self.places, self.axes = list(of.message.places), list(of.axes)

    def add(self, array: Any, place: str, axes: Axes) -> None:
        """Add an input."""
        self.inputs.append(array)
        self.places.append(place)
        self.axes.append(axes)

    def run(
        self, key: tuple[Any, ...], scalars: Scalars, results: Sequence[Result], reduce: str, **how: Any
    ) -> tuple[Any, ...]:
        """Return the results of `scalars`, a function of the inputs' scalars that `key` and the message tell.

        how: `structure`, the arrays, `backend` and `dtype`; and `transposed`.
        """
        structure, transposed = how["structure"], how.get("transposed", False)
        dtypes = tuple(str(x.dtype) for x in self.inputs)
        places = tuple(SWAPPED[x] if transposed else x for x in self.places)
        message, used = _made((self.of.message, *key), _Made(scalars), dtypes, places)
        new = replace(
            self.of,
            message=message,
            axes=tuple(self.axes[i] for i in used),
            results=tuple(results),
            reduce=reduce,
        )
        if transposed:
            new, structure = _turned(new, structure)
        return call(new, structure, tuple(self.inputs[i] for i in used), how["backend"], how["dtype"])


class _Made:
    """Wrap a function; the rest of its cache key tells functions apart."""

    def __init__(self, function: Scalars) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Made)

    def __hash__(self) -> int:
        return 0


@lru_cache(_KEPT)
def _made(
    key: tuple[Any, ...], made: _Made, dtypes: tuple[str, ...], places: tuple[str, ...]
) -> tuple[Traced, tuple[int, ...]]:
    """Return the message of a derivative, and which of the inputs it uses."""
    name = f"{key[1]} of {key[0].name}"
    source = Source(name, (made.function,), SUBJECT)
    scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
    with jax.sharding.use_abstract_mesh(NO_MESH):
        program = Program.of(jax.make_jaxpr(made.function)(*scalars), source)
    read = {*_names_read(program.operations), *program.results}
    used = tuple(i for i in range(len(dtypes)) if f"x{i}" in read)

    def of_used(*inputs: Any) -> Any:
        input_of = dict(zip(used, inputs, strict=True))
        return made.function(*(input_of.get(i, jnp.zeros((), x.dtype)) for i, x in enumerate(scalars)))

    with jax.sharding.use_abstract_mesh(NO_MESH):
        # Once more, of these alone, so that kernels read no array that they do not use.
        jaxpr = jax.make_jaxpr(of_used)(*(scalars[i] for i in used))
    program = Program.of(jaxpr, source)
    of_inputs = tuple(dtypes[i] for i in used), tuple(places[i] for i in used)
    derivatives = f"{jaxpr.jaxpr}" if program.has_own_derivatives else ""
    return Traced(program, *of_inputs, 0, derivatives, name, jaxpr), used


def _names_read(operations: Sequence[Operation | Loop]) -> Iterator[str]:
    """Yield the operands of all operations, and of loops the values that are carried in and on."""
    for operation in operations:
        if isinstance(operation, Loop):
            yield from (*operation.start, *operation.after)
            yield from _names_read(operation.body)
        else:
            yield from operation.operands


def _turned(of: Pass, structure: tuple[Any, ...]) -> tuple[Pass, tuple[Any, ...]]:
    """Return a pass over the transpose, and its structure, which is sorted unless a plan has it."""
    count, transposed_count = of.structure
    if transposed_count:
        turned = structure[count:] + structure[:count]
    else:
        turned = *csr_tocsc(*structure, shape=of.shape), *structure
    return replace(of, shape=of.shape[::-1], structure=(len(turned) - count, count)), turned
