"""A rule for one synapse: a function of scalars, traced, with where each of its inputs is read."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from event_ops.scalar_functions.contents import contents
from event_ops.scalar_functions.primitives import LACKED_BY_WARP
from event_ops.scalar_functions.program import Program
from event_ops.scalar_functions.refusals import Source

# Where an input of a rule is read for an entry: at the neuron that spiked, at the one at the other end of
# the synapse, at the synapse, or once for all.
SPIKING, OTHER, SYNAPSE, ALL = "spiking", "other", "synapse", "all"
_KEPT = 1024  # rules
_CONFIG: Any = jax.config  # its attributes are not declared


@dataclass(frozen=True)
class Rule:
    """A rule, which is another one if it computes something else or has other derivatives.

    Args:
        program: what it computes, of the synaptic variables, then of the variables that are given by name.
        dtypes: those of its inputs.
        places: where each of its inputs is read.
        derivatives: the text of its derivatives, where these do not follow from the program.
        name: of the function.
        jaxpr: the traced function.
    """

    program: Program
    dtypes: tuple[str, ...]
    places: tuple[str, ...]
    derivatives: str
    name: str = field(compare=False)
    jaxpr: ClosedJaxpr = field(compare=False, repr=False)

    def __repr__(self) -> str:
        return self.name

    @property
    def count(self) -> int:
        """Return how many synaptic variables there are."""
        return len(self.program.results)

    @functools.cached_property
    def rare(self) -> str:
        """Return the first primitive of the rule that not every backend has, or ""."""
        used = (operation.primitive for operation in self.program.operations)
        return next((name for name in used if name in LACKED_BY_WARP), "")

    def of_each(self, *inputs: jax.Array) -> tuple[jax.Array, ...]:
        """Return what the rule says for every synapse."""
        return tuple(jax.vmap(jaxpr_as_fun(self.jaxpr))(*inputs))

    @classmethod
    def of(
        cls, function: Callable[..., Any], dtypes: Sequence[Any], names: Sequence[str], places: Sequence[str]
    ) -> Rule:
        """Trace a function: of synaptic variables by position, one for each dtype, and of others by name.

        Raises:
            TypeError: the function does not take these, or returns what is no number of the dtype.
            ValueError: it returns another number of values, or does what kernels cannot do.
        """
        known = contents(function)
        given = tuple(dtypes), tuple(names), tuple(places)
        if known is None:
            return _traced(function, *given)
        settings = _CONFIG.jax_enable_x64, _CONFIG.jax_numpy_dtype_promotion
        return _kept(_Known((known, settings), function), *given)


@dataclass(frozen=True)
class _Known:
    """A function by its contents, and what else decides what is traced."""

    contents: Hashable
    function: Callable[..., Any] = field(compare=False)


@functools.lru_cache(_KEPT)
def _kept(known: _Known, dtypes: tuple[Any, ...], names: tuple[str, ...], places: tuple[str, ...]) -> Rule:
    return _traced(known.function, dtypes, names, places)


def _traced(
    function: Callable[..., Any], dtypes: tuple[Any, ...], names: tuple[str, ...], places: tuple[str, ...]
) -> Rule:
    name = getattr(function, "__name__", repr(function))
    count = len(dtypes) - len(names)
    _check_signature(name, function, count, names)

    def scalar_rule(*scalars: jax.Array) -> list[jax.Array]:
        given = dict(zip(names, scalars[count:], strict=True))
        return _results(name, function(*scalars[:count], **given), dtypes[:count])

    scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
    try:
        jaxpr = jax.make_jaxpr(scalar_rule)(*scalars)
    except jax.errors.ConcretizationTypeError as error:
        error.add_note(f"Raised as the rule {name!r} was traced: where it branches, use jnp.where.")
        raise
    program = Program.of(jaxpr, Source(name, function))
    derivatives = _derivatives(jaxpr, scalars) if program.has_own_derivatives else ""
    return Rule(program, tuple(map(str, dtypes)), places, derivatives, name, jaxpr)


def _check_signature(name: str, function: Callable[..., Any], count: int, names: Sequence[str]) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*range(count), **dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(
            f"the rule {name}{signature} does not take what it is given: {error}; given are {count} synaptic "
            f"variable(s) by position, and by name: {', '.join(names) or 'none'}; pass what it needs by "
            "name, and nothing else"
        ) from None


def _results(name: str, returned: Any, dtypes: Sequence[Any]) -> list[jax.Array]:
    """Return the values of a rule as scalars of the dtypes."""
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(values) != len(dtypes):
        raise ValueError(
            f"the rule {name!r} returns {len(values)} value(s); expected {len(dtypes)}, the new value of "
            "each synaptic variable, in their order"
        )
    return [_result(name, value, dtype) for value, dtype in zip(values, dtypes, strict=True)]


def _result(name: str, value: Any, dtype: Any) -> jax.Array:
    if not isinstance(value, jax.Array | int | float):
        raise TypeError(f"the rule {name!r} returns {value!r}; expected a number: is a return missing?")
    scalar = jnp.asarray(value)
    if scalar.shape:
        raise ValueError(
            f"the rule {name!r} returns an array of shape {scalar.shape}; expected a scalar, since a rule is "
            "about one synapse; pass arrays of neurons or synapses by name"
        )
    if scalar.dtype != dtype and not scalar.weak_type:
        raise TypeError(
            f"the rule {name!r} returns {scalar.dtype}; expected {dtype}, as the synaptic variable is; "
            f"cast it: .astype('{dtype}')"
        )
    return scalar.astype(dtype)


def _derivatives(jaxpr: ClosedJaxpr, scalars: Sequence[jax.ShapeDtypeStruct]) -> str:
    floats = tuple(i for i, x in enumerate(scalars) if jnp.issubdtype(x.dtype, jnp.floating))
    traced = jax.make_jaxpr(jax.jacfwd(jaxpr_as_fun(jaxpr), floats))(*scalars)
    return f"{traced.jaxpr} {traced.consts}"
