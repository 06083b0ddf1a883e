"""Traced functions of scalars, like a rule of one synapse, with the place where each input is read."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from event_ops.codegen.concrete import explain
from event_ops.codegen.contents import derivatives_of
from event_ops.codegen.identity import identity_of
from event_ops.codegen.operations import walk
from event_ops.codegen.primitives import LACKED_BY_WARP
from event_ops.codegen.program import Program
from event_ops.codegen.refusals import Source, Subject

ALL = "all"  # the place of an input that is one for all
_KEPT = 1024  # functions
_CONFIG: Any = jax.config  # its attributes are not declared


@dataclass(frozen=True)
class Traced:
    """Hold a traced function, equal to all that compute the same and have the same derivatives.

    Args:
        program: what it computes, of what it takes by position, then of what it takes by name.
        dtypes: those of its inputs.
        places: where each of its inputs is read, ALL or what the caller calls other places.
        positional: how many of its inputs it takes by position.
        derivatives: the contents of its derivatives, where these do not follow from the program.
        name: of the function.
        jaxpr: the traced function.
    """

    is_exact: ClassVar = True  # its numbers are texts

    program: Program
    dtypes: tuple[str, ...]
    places: tuple[str, ...]
    positional: int
    derivatives: Hashable
    name: str = field(compare=False)
    jaxpr: ClosedJaxpr = field(compare=False, repr=False)

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        # Every eager call asks for it, as a key of JAX's caches.
        return hash((self.program, self.dtypes, self.places, self.positional, self.derivatives))

    @property
    def count(self) -> int:
        """Return how many results there are."""
        return len(self.program.results)

    @functools.cached_property
    def rare(self) -> str:
        """Return the first primitive of the function that not every backend has, or ""."""
        used = (operation.primitive for operation, _ in walk(self.program.operations))
        return next((name for name in used if name in LACKED_BY_WARP), "")

    def uses(self, primitives: Collection[str]) -> bool:
        """Return whether one of these primitives is among its operations."""
        return any(operation.primitive in primitives for operation, _ in walk(self.program.operations))

    def of_each(self, *inputs: jax.Array) -> tuple[jax.Array, ...]:
        """Return the function of each element of the inputs; a number is one for all."""
        axes = tuple(0 if x.ndim else None for x in inputs)
        return tuple(jax.vmap(jaxpr_as_fun(self.jaxpr), axes)(*inputs))

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        dtypes: Sequence[Any],
        names: Sequence[str],
        places: Sequence[str],
        subject: Subject,
        *,
        results: Sequence[Any] | None = None,
        written_as: Sequence[Callable[..., Any]] = (),
    ) -> Traced:
        """Trace a function of scalars by position, one for each dtype, and of `names` by name.

        Args:
            results: the dtypes of what it returns; None: those of what it takes by position.
            written_as: the functions whose names and lines errors have; none: the function itself.

        Raises:
            TypeError: the function does not take these, or returns what is no number of the dtype.
            ValueError: it returns another number of values, or does what kernels cannot do.
        """
        identity = identity_of(function)
        returned = tuple(dtypes[: len(dtypes) - len(names)] if results is None else results)
        signature = tuple(dtypes), tuple(names), tuple(places), subject, returned
        sources = tuple(written_as) or (inspect.unwrap(function),)
        if identity is None:
            return _traced(function, sources, *signature)
        settings = _CONFIG.jax_enable_x64, _CONFIG.jax_numpy_dtype_promotion
        return _traced_once(_Identified((identity, settings), function, sources), *signature)


@dataclass(frozen=True)
class _Identified:
    """Hold a function, equal to all of its identity under the settings of JAX that tracing depends on."""

    identity: Hashable
    function: Callable[..., Any] = field(compare=False)
    written_as: tuple[Callable[..., Any], ...] = field(compare=False)


@functools.lru_cache(_KEPT)
def _traced_once(identified: _Identified, *signature: Any) -> Traced:
    return _traced(identified.function, identified.written_as, *signature)


def _traced(
    function: Callable[..., Any],
    written_as: tuple[Callable[..., Any], ...],
    dtypes: tuple[Any, ...],
    names: tuple[str, ...],
    places: tuple[str, ...],
    subject: Subject,
    results: tuple[Any, ...],
) -> Traced:
    name = name_of(written_as[0])
    count = len(dtypes) - len(names)
    _check_signature(subject, name, function, count, names)

    def of_scalars(*scalars: jax.Array) -> list[jax.Array]:
        variables = dict(zip(names, scalars[count:], strict=True))
        return as_results(subject, name, function(*scalars[:count], **variables), results)

    scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
    source = Source(name, written_as, subject)
    try:
        jaxpr = jax.make_jaxpr(of_scalars)(*scalars)
    except Exception as error:
        explain(error, source)
        raise
    program = Program.of(jaxpr, source)
    derivatives = derivatives_of(program, jaxpr)
    return Traced(program, tuple(map(str, dtypes)), places, count, derivatives, name, jaxpr)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name that errors have for a function."""
    return getattr(function, "__name__", repr(function))


def _check_signature(
    subject: Subject, name: str, function: Callable[..., Any], count: int, names: Sequence[str]
) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*range(count), **dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(
            f"the {subject.role} {name}{signature} does not take what it is given: {error}; given are "
            f"{count} {subject.variable}(s) by position, and by name: {', '.join(names) or 'none'}; pass "
            "what it needs by name, and nothing else"
        ) from None


def as_results(subject: Subject, name: str, returned: Any, dtypes: Sequence[Any]) -> list[jax.Array]:
    """Return the results of a function as scalars of the dtypes; raise if they are none."""
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    if len(values) != len(dtypes):
        raise ValueError(
            f"the {subject.role} {name!r} returns {len(values)} value(s); expected {len(dtypes)}, the new "
            f"value of each {subject.variable}, in their order"
        )
    return [_result(subject, name, value, dtype) for value, dtype in zip(values, dtypes, strict=True)]


def _result(subject: Subject, name: str, value: Any, dtype: Any) -> jax.Array:
    if not isinstance(value, jax.Array | int | float):
        raise TypeError(
            f"the {subject.role} {name!r} returns {value!r}; expected a number: is a return missing?"
        )
    scalar = jnp.asarray(value)
    if jnp.issubdtype(dtype, jnp.integer) and jnp.issubdtype(scalar.dtype, jnp.floating):
        raise TypeError(
            f"the {subject.role} {name!r} returns {scalar.dtype}; expected {dtype}, as the "
            f"{subject.variable} is: count in integers, as by + 1, or make it a float"
        )
    if scalar.shape:
        raise ValueError(
            f"the {subject.role} {name!r} returns an array of shape {scalar.shape}; expected a scalar, since "
            f"a {subject.role} is about one {subject.unit}; pass arrays of {subject.arrays} by name"
        )
    # The dtype of what is made of Python's numbers alone gives way, as elsewhere in JAX.
    if scalar.dtype != dtype and not scalar.weak_type:
        raise TypeError(
            f"the {subject.role} {name!r} returns {scalar.dtype}; expected {dtype}, as the "
            f"{subject.variable} is; cast it: .astype('{dtype}')"
        )
    return scalar.astype(dtype)
