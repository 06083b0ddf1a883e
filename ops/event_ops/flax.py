"""`import event_ops.flax` lets `flax.serialization` write and read a `CSR` or `ELL`; it needs Flax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
from flax import serialization  # pyright: ignore[reportMissingImports]

from event_ops.checks.arrays import as_array
from event_ops.sparse import csr, ell
from event_ops.sparse.matrix import Matrix
from event_ops.sparse.plan import ByColumn

_LEAVES: Mapping[type[Matrix], tuple[str, ...]] = {csr.CSR: csr.LEAVES, ell.ELL: ell.LEAVES}


def state_of(A: Matrix) -> dict[str, Any]:
    """Return the leaves of a matrix, its shape as it is stored, and whether it is read transposed."""
    leaves = {name: serialization.to_state_dict(getattr(A, name)) for name in _LEAVES[type(A)]}
    shape = serialization.to_state_dict(A.stored_shape)
    return {**leaves, "stored_shape": shape, "transposed": A.transposed}


def restored(target: Matrix, state: dict[str, Any]) -> Matrix:
    """Return the matrix of a state; raise ValueError unless it has the shape of the target.

    The target's entries are not looked at: the state may have others, and another number of them.
    """
    shape = tuple(serialization.from_state_dict(target.stored_shape, state["stored_shape"]))
    transposed = bool(state["transposed"])
    given = shape[::-1] if transposed else shape
    if given != target.shape:
        raise ValueError(f"the state is that of a matrix of shape {given}; expected {target.shape}")
    leaves = {name: jax.tree.map(as_array, state[name]) for name in _LEAVES[type(target)]}
    plan = leaves["by_column"] and ByColumn(**leaves["by_column"])
    changes = leaves | {"by_column": plan, "stored_shape": shape, "transposed": transposed}
    return target._changed(**changes)  # pyright: ignore[reportPrivateUsage]


for _kind in _LEAVES:
    serialization.register_serialization_state(_kind, state_of, restored, override=True)
