"""Visits: passes with a message that is made of a given one, like its derivatives."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.codegen.contents import derivatives_of
from event_ops.codegen.function import Traced
from event_ops.codegen.operations import names_read
from event_ops.codegen.program import Program
from event_ops.codegen.refusals import Source
from event_ops.messages.passes import COLUMN, NO_MESH, ROW, SUBJECT, SWAPPED, Axes, Pass, Result, call

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
    read = {*names_read(program.operations), *program.results}
    used = tuple(i for i in range(len(dtypes)) if f"x{i}" in read)

    def of_used(*inputs: Any) -> Any:
        input_of = dict(zip(used, inputs, strict=True))
        return made.function(*(input_of.get(i, jnp.zeros((), x.dtype)) for i, x in enumerate(scalars)))

    with jax.sharding.use_abstract_mesh(NO_MESH):
        # Once more, of these alone, so that kernels read no array that they do not use.
        jaxpr = jax.make_jaxpr(of_used)(*(scalars[i] for i in used))
        program = Program.of(jaxpr, source)
        derivatives = derivatives_of(program, jaxpr)
    of_inputs = tuple(dtypes[i] for i in used), tuple(places[i] for i in used)
    return Traced(program, *of_inputs, 0, derivatives, name, jaxpr), used


def _turned(of: Pass, structure: tuple[Any, ...]) -> tuple[Pass, tuple[Any, ...]]:
    """Return a pass over the transpose, and its structure, which is sorted unless a plan has it."""
    count, transposed_count = of.structure
    if transposed_count:
        turned = structure[count:] + structure[:count]
    else:
        turned = *csr_tocsc(*structure, shape=of.shape), *structure
    return replace(of, shape=of.shape[::-1], structure=(len(turned) - count, count)), turned


def along_columns(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return `build` for all passes, from one that takes no results at columns.

    Columns are rows of the transpose, which a pass of its own visits.
    """

    def build_both(*, of: Pass, outs: Any, **how: Any) -> Callable[..., Any]:
        at = {x: [k for k, y in enumerate(of.results) if (y.place == COLUMN) == x] for x in (False, True)}
        if not at[True]:
            return build(of=of, outs=outs, **how)

        def call_both(*arrays: Any) -> Any:
            structure, inputs = of.divided(arrays)
            by_number: dict[int, Any] = {}
            for is_column, numbers in at.items():
                part, given = of.part(numbers), structure
                if is_column:
                    message = replace(part.message, places=tuple(SWAPPED[x] for x in part.message.places))
                    results = tuple(Result(ROW, x.axes) for x in part.results)
                    part, given = _turned(replace(part, message=message, results=results), structure)
                if numbers:
                    run = build(of=part, outs=tuple(outs[k] for k in numbers), **how)
                    by_number |= zip(numbers, run(*given, *inputs), strict=True)
            return tuple(by_number[k] for k in range(len(outs)))

        return call_both

    return build_both
