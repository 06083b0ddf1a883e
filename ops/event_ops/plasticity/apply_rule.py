"""A rule applied to arrays: their checks, where each is read, and the kernels with their backends."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_same_dtype, check_shape
from event_ops.codegen.function import ALL, Traced, name_of
from event_ops.codegen.operators import as_variable, define_kernel
from event_ops.codegen.refusals import Subject
from event_ops.kernels.reference.plasticity import check_spikes
from event_ops.plasticity.emit import OTHER, SPIKING, STORAGES, SYNAPSE, Storage
from ffi_bridge import XLACustomKernel

_SIDES: Final = "pre", "post"
_KINDS: Final = "row", "column"
_SUBJECT: Final = Subject("rule", "synapse", "synaptic variable", "neurons or synapses", "on_pre")


def apply_rule(
    storage: Storage,
    function: Callable[..., Any],
    synapses: Any,
    structure: tuple[Any, ...],
    spikes: ArrayLike,
    grid: tuple[int, ...],
    shape: tuple[int, int],
    axis: int,
    variables: dict[str, Any],
    backend: str | None,
    kernel: XLACustomKernel | None = None,
) -> Any:
    """Return the synaptic variables, an array or a tuple as they were given, after the rule.

    Args:
        storage: how the synapses are stored.
        function: the rule.
        synapses: an array or a tuple of arrays.
        structure: where the synapses of a neuron are, as the storage says it.
        spikes: of the neurons along the axis; the rule takes values of float ones as spike_pre or spike_post.
        grid: the shape of the synapses.
        shape: (presynaptic, postsynaptic) neurons.
        axis: 0 if presynaptic neurons spiked, 1 if postsynaptic ones did.
        variables: what the rule takes by name.
        backend: run on this one or not at all; None: choose.
        kernel: an operator's own; None: that of the storage.
    """
    several = isinstance(synapses, tuple)
    each: list[jax.Array] = list(map(as_array, synapses if several else (synapses,)))
    _check_synapses(each, grid)
    events, along = as_array(spikes), f"{_KINDS[axis]} of shape={shape}"
    check_spikes(f"spikes_{_SIDES[axis]}", events, each[0], shape[axis], along)
    if events.dtype != bool:
        variables = _with_values(function, events, axis, variables)
    rule, arrays_by_name = traced_rule(function, each, variables, grid, shape, axis)
    # An argument, not a constant: matrices of all sizes share a kernel.
    limit = (np.asarray(shape[1 - axis], structure[0].dtype),) if structure else ()
    outs = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in each)
    static = {"rule": rule, "shape": shape, "storage": storage.name, "primitive": rule.rare}
    arrays = *each, *structure, events, *limit, *arrays_by_name
    changed = (kernel or KERNELS[storage])(*arrays, outs=outs, backend=backend, **static)
    return tuple(changed) if several else changed[0]


def traced_rule(
    function: Callable[..., Any],
    each: Sequence[Any],
    variables: Mapping[str, Any],
    grid: tuple[int, ...],
    shape: tuple[int, int],
    axis: int,
) -> tuple[Traced, list[jax.Array]]:
    """Return a rule traced for these synaptic variables and variables by name, and the latter as arrays."""
    arrays, places = [], [SYNAPSE] * len(each)
    for name, value in variables.items():
        array = as_variable(name, value, "synapses", each[0])
        places.append(_place(name, array, grid, shape, axis))
        arrays.append(array)
    dtypes = [x.dtype for x in (*each, *arrays)]
    return Traced.of(function, dtypes, tuple(variables), places, _SUBJECT), arrays


def _with_values(
    function: Callable[..., Any], events: jax.Array, axis: int, variables: dict[str, Any]
) -> dict[str, Any]:
    """Return the variables of a rule behind the values of float spikes."""
    name, spikes = f"spike_{_SIDES[axis]}", f"spikes_{_SIDES[axis]}"
    if not _takes(function, name):
        raise TypeError(
            f"{spikes} has dtype {events.dtype}, and the rule {name_of(function)!r} takes no {name}; "
            "expected bool, or a rule that takes the value of a spike by this name; say which are True: "
            f"{spikes} != 0"
        )
    if name in variables:
        raise TypeError(
            f"{name} is given, and so are float spikes, whose values have this name in the rule; expected "
            f"one of both: give no {name}, or say which spikes are True: {spikes} != 0"
        )
    return {name: events, **variables}


def _takes(function: Callable[..., Any], name: str) -> bool:
    if isinstance(function, FunctionType):  # a signature takes longer than the rest of an eager call
        code = function.__code__
        if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            return True
    taken = inspect.signature(function).parameters
    return name in taken or any(p.kind is p.VAR_KEYWORD for p in taken.values())


def _check_synapses(each: list[jax.Array], shape: tuple[int, ...]) -> None:
    if not each:
        raise ValueError("synapses is (); expected the weights, or a tuple of synaptic variables")
    for i, x in enumerate(each):
        name = f"synapses[{i}]" if len(each) > 1 else "synapses"
        check_dtype(name, x, FLOATS)
        check_shape(name, x, shape, why="one value for each synapse")
        check_same_dtype(name, x, "synapses[0]", each[0])


def _place(name: str, array: jax.Array, grid: tuple[int, ...], shape: tuple[int, int], axis: int) -> str:
    """Return where a variable is read, which its name says: at a neuron, at the synapse, or once for all."""
    if not array.ndim:
        return ALL
    for side, suffix in enumerate(_SIDES):
        if name.endswith(f"_{suffix}"):
            why = f"a number, or one value per neuron, that is per {_KINDS[side]} of shape={shape}"
            check_shape(name, array, (shape[side],), why=why)
            return SPIKING if side == axis else OTHER
    why = "a number, or one value per synapse; names of variables of neurons end with _pre or _post"
    check_shape(name, array, grid, why=why)
    return SYNAPSE


def define_rule_kernel(name: str) -> XLACustomKernel:
    """Return the kernel of this name, which applies rules to synapses of any storage."""
    return define_kernel(name, "event_ops.plasticity", "sparse", "event-driven", "plasticity")


KERNELS: Final = {x: define_rule_kernel(x.name) for x in STORAGES.values()}
