"""Operators of functions of scalars: their backends, and a term of one element as a loop over arrays."""

import functools
import math
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import FLOATS, check_dtype, check_same_dtype
from event_ops.checks.inputs import as_input, flattened, in_dtype, is_weak_number, shaped
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.identity import identity_of
from event_ops.codegen.primitives import LACKED_BY_WARP
from event_ops.codegen.refusals import Subject
from event_ops.kernels.reference.spiking import Surrogate
from ffi_bridge import XLACustomKernel

EACH: Final = "each"  # the place of an input that has a value for each element
_SUBJECT: Final = Subject("term", "element", "state", "elements", "operator")
_CONFIG: Any = jax.config  # its attributes are not declared
_KEPT: Final = 1024  # terms
_NO_NOISE: Final[Mapping[str, str]] = {}

# Returns the new states, and other results behind them, from the states by position and variables by name.
Term = Callable[..., Any]


class NotedCall(NamedTuple):
    """Hold a call of an operator of functions of scalars that was noted in place of being made."""

    inputs: tuple[Any, ...]
    results: tuple[jax.Array, ...]
    static: dict[str, Any]


_NOTES: Final[ContextVar[list[NotedCall] | None]] = ContextVar("notes", default=None)


@contextmanager
def noted_calls() -> Generator[list[NotedCall]]:
    """Have a block note the calls of functions of scalars, which then return zeros, in the list it gets.

    So a run of a network learns which function a model calls, and with which arrays.
    """
    notes: list[NotedCall] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


class ScalarKernel(XLACustomKernel):
    """The operator of functions of scalars, whose calls `noted_calls` notes."""

    def __call__(self, *ins: Any, outs: Any, backend: str | None = None, **static: Any) -> Any:
        """Return the outputs of the operator, or zeros in their place while calls are noted."""
        notes = _NOTES.get()
        if notes is None:
            return super().__call__(*ins, outs=outs, backend=backend, **static)
        results = tuple(jnp.zeros(x.shape, x.dtype) for x in outs)
        notes.append(NotedCall(ins, results, static))
        return results


def define_kernel(name: str, room: str, *tags: str) -> XLACustomKernel:
    """Return the kernel whose backends are in the modules of a room, each a function `build`."""
    kernel = ScalarKernel(name)
    kernel.def_tags(*tags)
    kernel.def_tuning("event_ops:tuning")
    kernel.def_reference(f"{room}.reference:build")
    kernel.def_numba_kernel(f"{room}.numba_cpu:build")
    kernel.def_numba_cuda_kernel(f"{room}.numba_cuda:build")
    lacks = tuple(f"primitive={name}" for name in LACKED_BY_WARP)
    for platform in ("gpu", "cpu"):
        kernel.def_kernel("warp", platform, f"{room}.warp:build", lacks=lacks)
    return kernel


def as_variable(name: str, value: Any, like_name: str, like: jax.Array) -> jax.Array:
    """Return a variable as an array: a number in the dtype of `like`, an array in the same dtype or bool."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return in_dtype(value, like.dtype)
    if is_weak_number(value) and value.dtype != bool:
        return in_dtype(value, like.dtype)
    array = as_input(value, name)
    if array.dtype != bool:
        check_dtype(name, array, FLOATS)
        check_same_dtype(name, array, like_name, like)
    return array


def call_term(
    kernel: XLACustomKernel,
    term: Term,
    states: Sequence[jax.Array],
    variables: Mapping[str, jax.Array],
    *,
    more: Sequence[Any] = (),
    noise: Mapping[str, str] = _NO_NOISE,
    words: tuple[Any, ...] = (),
    backend: str | None,
    **options: Any,
) -> tuple[jax.Array, ...]:
    """Return `term(*states, **variables, **options)` of each element: the states, then further results.

    Args:
        kernel: the operator, which `define_kernel` has made, with the backends of `event_ops.neurons`.
        term: a function of a module; it is traced once for all calls with the same dtypes and options,
            the functions among which read the same.
        states: arrays of one shape and dtype, updated in place where they are not needed again.
        variables: arrays of that shape, or without dimensions where one value is for all.
        more: the dtypes of the results behind the states.
        noise: name -> distribution of further variables, which are drawn for each element.
        words: what these are drawn from: seed, step, first and table.
        backend: run on this one or not at all; None: choose.
        options: static, such as the name of a method, or a surrogate.
    """
    flat = flattened(states, tuple(variables.values()))
    shape = next((x.shape for x in (*states, *variables.values()) if x.ndim), ())
    dtypes = [*(x.dtype for x in states), *more]
    outs = tuple(jax.ShapeDtypeStruct((math.prod(shape),), dtype) for dtype in dtypes)
    static: dict[str, Any] = options | ({"noise": tuple(noise.values())} if noise else {})
    if _is_hashable(tuple(options.items())):  # else the kernel says which of them is not
        traced = _traced(
            term,
            tuple(options.items()),
            (*(x.dtype for x in flat), *[dtypes[0]] * len(noise)),
            (*variables, *noise),
            (*(EACH if x.ndim else ALL for x in flat), *[EACH] * len(noise)),
            tuple(more),
            _CONFIG.jax_enable_x64,
            # A surrogate may read what has changed since: then it is the same object, and another function.
            *(identity_of(x) or object() for x in options.values() if callable(x)),
        )
        # The options stay part of JAX's key: a term knows of a surrogate no more than its text.
        static["neuron"] = traced
        if traced.rare:  # rows of tuning tables name all static texts of a call
            static["primitive"] = traced.rare
    return shaped(kernel(*flat, *words, outs=outs, backend=backend, **static), shape)


def _is_hashable(options: Any) -> bool:
    try:
        hash(options)
    except TypeError:
        return False
    return True


def call_step(
    kernel: XLACustomKernel,
    term: Term,
    states: Sequence[jax.Array],
    variables: Mapping[str, jax.Array],
    *,
    surrogate: Surrogate | None,
    backend: str | None,
    **options: Any,
) -> Any:
    """Return the states of neurons and their spikes, flags or with a surrogate numbers, after a step."""
    spikes = np.dtype(bool) if surrogate is None else states[0].dtype
    options["surrogate"] = surrogate
    return call_term(kernel, term, states, variables, more=(spikes,), backend=backend, **options)


@functools.lru_cache(_KEPT)
def _traced(
    term: Term,
    options: tuple[tuple[str, Any], ...],
    dtypes: tuple[Any, ...],
    names: tuple[str, ...],
    places: tuple[str, ...],
    more: tuple[Any, ...],
    is_wide: bool,
    *identities: Hashable,
) -> Traced:
    """Return the term traced for inputs of the dtypes.

    Args:
        is_wide: whether JAX has numbers of 64 bits.
        identities: of the functions among the options.
    """
    of_options = functools.partial(term, **dict(options))
    states = dtypes[: len(dtypes) - len(names)]
    return Traced.of(
        of_options, dtypes, names, places, _SUBJECT, results=(*states, *more), written_as=(term,)
    )
