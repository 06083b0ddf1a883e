"""A rule applied to arrays: their checks, where each is read, and the kernels with their backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np

from event_ops.checks.arrays import FLOATS, as_array, check_dtype, check_same_dtype, check_shape
from event_ops.plasticity.emit import OTHER, SPIKING, SYNAPSE
from event_ops.scalar_functions.function import ALL, Traced
from event_ops.scalar_functions.operators import as_variable, define_kernel
from event_ops.scalar_functions.refusals import Subject
from ffi_bridge import XLACustomKernel

_SUBJECT: Final = Subject("rule", "synapse", "synaptic variable", "neurons or synapses", "on_pre")


def checked_spikes(name: str, spikes: jax.Array, shape: tuple[int, int], axis: int) -> jax.Array:
    """Return the spikes of the neurons along an axis of the matrix; raise unless they are flags of these."""
    value = name.replace("spikes_", "spike_")
    also = f"; where the rule needs values of spikes, pass them by a name, too: {value}={name}"
    check_dtype(name, spikes, ("bool",), otherwise=also)
    why = f"one per neuron, that is per {('row', 'column')[axis]} of shape={shape}"
    check_shape(name, spikes, (shape[axis],), why=why)
    return spikes


def applied(
    kernel: XLACustomKernel,
    function: Callable[..., Any],
    synapses: Any,
    structure: tuple[Any, ...],
    grid: tuple[int, ...],
    shape: tuple[int, int],
    axis: int,
    variables: dict[str, Any],
    backend: str | None,
) -> Any:
    """Return the synaptic variables, an array or a tuple as they were given, after the rule.

    Args:
        kernel: one of those below.
        function: the rule.
        synapses: an array or a tuple of arrays.
        structure: what the kernel reads between the synapses and the variables, the spikes last.
        grid: the shape of the synapses.
        shape: (presynaptic, postsynaptic) neurons.
        axis: 0 if presynaptic neurons spiked, 1 if postsynaptic ones did.
        variables: what the rule takes by name.
        backend: run on this one or not at all; None: choose.
    """
    several = isinstance(synapses, tuple)
    each: list[jax.Array] = list(map(as_array, synapses if several else (synapses,)))
    _check_synapses(each, grid)
    given, places = [], [SYNAPSE] * len(each)
    for name, value in variables.items():
        array = as_variable(name, value, "synapses", each[0])
        places.append(_place(name, array, grid, shape, axis))
        given.append(array)
    dtypes = [x.dtype for x in (*each, *given)]
    rule = Traced.of(function, dtypes, tuple(variables), places, _SUBJECT)
    if len(structure) > 1:
        structure = *structure, np.asarray(shape[1 - axis], structure[0].dtype)
    outs = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in each)
    static = {"rule": rule, "shape": shape, "storage": kernel.name, "primitive": rule.rare}
    changed = kernel(*each, *structure, *given, outs=outs, backend=backend, **static)
    return tuple(changed) if several else changed[0]


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
    for suffix, side, kind in (("_pre", 0, "row"), ("_post", 1, "column")):
        if name.endswith(suffix):
            why = f"a number, or one value per neuron, that is per {kind} of shape={shape}"
            check_shape(name, array, (shape[side],), why=why)
            return SPIKING if side == axis else OTHER
    why = "a number, or one value per synapse; names of variables of neurons end with _pre or _post"
    check_shape(name, array, grid, why=why)
    return SYNAPSE


def _defined(name: str, reference: str) -> XLACustomKernel:
    """Return the kernel of the storage of this name in `emit`."""
    tags = "sparse", "event-driven", "plasticity"
    return define_kernel(name, "event_ops.plasticity", *tags, reference=reference)


along_rows = _defined("plasticity_on_pre", "along_rows")
along_columns = _defined("plasticity_on_post", "along_columns")
along_dense_rows = _defined("plasticity_on_pre_dense", "along_dense_rows")
along_dense_columns = _defined("plasticity_on_post_dense", "along_dense_columns")
