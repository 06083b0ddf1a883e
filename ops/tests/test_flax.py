"""`flax.serialization` saves and restores sparse matrices, inside of other states too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_matrix import DENSE, small, small_ell

from event_ops import CSR, ELL

serialization = pytest.importorskip("flax.serialization", reason="Flax is not installed")
pytest.importorskip("event_ops.flax")

OTHER = {"data": np.zeros(2, "f"), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
OTHERS = {
    "ELL": ELL(0.0, np.zeros((2, 1), int), shape=(2, 3)),
    "compact": CSR(**OTHER, shape=(2, 3)).compact(),
}
OTHERS["compact, 16 bits"] = OTHERS["compact"]
MATRICES = {
    "plain": small(),
    "planned": small().plan(),
    "transposed": small().T,
    "one weight": small(data=2.0),
    "one weight, planned": small(data=2.0).plan(),
    "ELL": small_ell().plan(),
    "compact": small().compact().plan(),
    "compact, 16 bits": small(data=2.0).compact().plan(),
    "a stack": jax.tree.map(lambda x: jnp.stack([x, x]), small()),
}


def same(A, B):
    assert repr(A) == repr(B) and jax.tree.structure(A) == jax.tree.structure(B)
    for a, b in zip(jax.tree.leaves(A), jax.tree.leaves(B), strict=True):
        assert isinstance(a, jax.Array) and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_comes_back_as_it_was(name):
    A = MATRICES[name]
    other = OTHERS.get(name, CSR(**OTHER, shape=(2, 3)))
    target = other if A.shape == (2, 3) else other.T
    same(serialization.from_bytes(target, serialization.to_bytes(A)), A)
    same(serialization.from_state_dict(target, serialization.to_state_dict(A)), A)
    state = {"params": {"synapses": [A]}, "step": 3}
    empty = jax.tree.map(jnp.zeros_like, state)
    again = serialization.from_bytes(empty, serialization.to_bytes(state))
    same(again["params"]["synapses"][0], A)


def test_a_state_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\); expected \(3, 2\)"):
        serialization.from_bytes(small().T, serialization.to_bytes(small()))


def test_a_restored_matrix_multiplies():
    A = serialization.from_bytes(small(**OTHER), serialization.to_bytes(small()))
    np.testing.assert_array_equal(A @ np.ones(3, "f"), DENSE.sum(1))
