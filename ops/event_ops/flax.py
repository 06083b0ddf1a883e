"""`import event_ops.flax` lets `flax.serialization` write and read sparse matrices; it needs Flax."""

from collections.abc import Mapping
from typing import Any

import jax
from flax import serialization  # pyright: ignore[reportMissingImports]

from event_ops.checks.arrays import as_array
from event_ops.sparse import compact, csr, ell
from event_ops.sparse.products import ByColumn

# A kind of matrix -> its leaves, and what its plan is.
_KINDS: Mapping[type[Any], tuple[tuple[str, ...], type[Any]]] = {
    compact.CompactCSR: (compact.LEAVES, compact.WordsByColumn),
    csr.CSR: (csr.LEAVES, ByColumn),
    ell.ELL: (ell.LEAVES, ByColumn),
}


def state_of(A: Any) -> dict[str, Any]:
    """Return the leaves of a matrix, its shape as it is stored, and whether it is read transposed."""
    names, _ = _KINDS[type(A)]
    leaves = {name: serialization.to_state_dict(getattr(A, name)) for name in names}
    shape = serialization.to_state_dict(A.stored_shape)
    return {**leaves, "stored_shape": shape, "transposed": A.transposed}


def restored(target: Any, state: dict[str, Any]) -> Any:
    """Return the matrix of a state; raise ValueError unless it has the shape of the target.

    The target's entries are not looked at: the state may have others, and another number of them.
    """
    shape = tuple(serialization.from_state_dict(target.stored_shape, state["stored_shape"]))
    transposed = bool(state["transposed"])
    stored_shape = shape[::-1] if transposed else shape
    if stored_shape != target.shape:
        raise ValueError(f"the state is that of a matrix of shape {stored_shape}; expected {target.shape}")
    names, kind_of_plan = _KINDS[type(target)]
    leaves = {name: jax.tree.map(as_array, state[name]) for name in names}
    plan = leaves["by_column"] and kind_of_plan(**leaves["by_column"])
    changes = leaves | {"by_column": plan, "stored_shape": shape, "transposed": transposed}
    return target._changed(**changes)


for _kind in _KINDS:
    serialization.register_serialization_state(_kind, state_of, restored, override=True)
