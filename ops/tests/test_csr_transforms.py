"""A `CSR` goes wherever a pytree of arrays goes, and its gradients are right with and without a plan."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from small_matrix import DENSE, formats, small

import ffi_bridge
from event_ops import CSR, Events

V = np.array([1, 2, 4], "f")
Y = DENSE @ V
SPIKES = np.array([True, False, True])

product = jax.jit(lambda A, v: A @ v)


@formats
def test_two_equal_matrices_in_one_function(small):
    np.testing.assert_array_equal(jax.jit(lambda A, B, v: A @ v + B @ v)(small(), small(), V), 2 * Y)


def test_a_matrix_built_inside_from_traced_arrays():
    build = jax.jit(lambda *parts: CSR(*parts, shape=(2, 3)).plan())
    A = small()
    built = build(A.data, A.indices, A.indptr)
    assert isinstance(built, CSR) and built.shape == (2, 3)
    np.testing.assert_array_equal(built @ Events(SPIKES), DENSE @ SPIKES)


@formats
@pytest.mark.parametrize("planned", [False, True])
def test_one_matrix_closed_over_by_two_functions(small, planned):
    A = small().plan() if planned else small()
    first, second = jax.jit(lambda v: A @ Events(v)), jax.jit(lambda v: A @ Events(2 * v))
    for _ in range(2):
        np.testing.assert_array_equal(first(V), Y)
        np.testing.assert_array_equal(second(V), 2 * Y)
    np.testing.assert_array_equal(A @ V, Y)


@formats
def test_equal_structures_share_what_was_compiled(small):
    count = []
    f = jax.jit(lambda A: count.append(1) or A @ V)
    f(small()), f(2 * small()), f(jax.device_put(small()))
    assert len(count) == 1
    f(small().T.T), f(small().plan())
    assert len(count) == 2


@formats
@pytest.mark.parametrize("planned", [False, True])
def test_carried_by_a_loop(small, planned):
    A = small().plan() if planned else small()
    last, totals = jax.jit(
        lambda A: jax.lax.scan(lambda A, _: (2 * A, (A @ Events(SPIKES)).sum()), A, None, length=3)
    )(A)
    np.testing.assert_array_equal(last.todense(), 8 * DENSE)
    np.testing.assert_array_equal(totals, 5 * np.array([1, 2, 4]))
    last.check()


@pytest.mark.slow_cases("ELL")
@formats
@pytest.mark.parametrize("planned", [False, True])
def test_vmap_over_weights_and_over_matrices(small, planned):
    A = small().plan() if planned else small()
    weights = jnp.stack([A.data, 2 * A.data])
    np.testing.assert_array_equal(
        jax.vmap(lambda w: A.with_data(w) @ Events(SPIKES))(weights)[1], 2 * DENSE @ SPIKES
    )
    stack = jax.tree.map(lambda *xs: jnp.stack(xs), A, 3 * A)
    np.testing.assert_array_equal(jax.vmap(lambda A, v: A @ v)(stack, jnp.stack([V, V])), [Y, 3 * Y])


def test_tree_map_paths_and_donation():
    A = small()
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(A.plan())]
    assert paths[:4] == [".data", ".indices", ".indptr", ".by_column.indices"]
    assert jax.tree.map(lambda x: x.dtype, A).indices == np.int32
    assert jax.tree.structure(A) == jax.tree.structure(small())
    assert jax.tree.structure(A) != jax.tree.structure(A.T)
    old = A.data
    doubled = jax.jit(lambda A: 2 * A, donate_argnums=0)(A)
    assert old.is_deleted()
    np.testing.assert_array_equal(doubled.todense(), 2 * DENSE)


def test_a_gradient_with_respect_to_the_matrix_is_a_matrix():
    grad = jax.grad(lambda A: (A @ V).sum(), allow_int=True)(small())
    assert isinstance(grad, CSR)
    assert grad.data.tolist() == [4, 2, 1]
    assert grad.indices.dtype == jax.dtypes.float0
    assert "float0" in repr(grad)


@pytest.mark.parametrize("where", ["none", "outside", "inside", "with_data", "leaf"])
@pytest.mark.parametrize("kind", ["bool", "ids", "float", "matrix"])
def test_gradients_of_weights_through_a_plan(where, kind):
    A = small()
    x = {
        "bool": SPIKES,
        "ids": np.array([0, 2, 9]),
        "float": V * SPIKES,
        "matrix": np.stack([V * SPIKES, V], 1),
    }[kind]
    planned = A.plan()
    matrix = {
        "none": A.with_data,
        "outside": planned.with_data,
        "inside": lambda w: A.with_data(w).plan(),
        "with_data": lambda w: planned.with_data(w / 2).with_data(w),
        "leaf": lambda w: jax.tree.unflatten(jax.tree.structure(planned), [w, *jax.tree.leaves(planned)[1:]]),
    }[where]
    with ffi_bridge.use_backend("reference"):
        grad = jax.grad(lambda w: (matrix(w) @ Events(x, "ids" if kind == "ids" else "flags")).sum())(A.data)
    total = SPIKES if kind == "ids" else x.reshape(3, -1).sum(1)
    np.testing.assert_array_equal(grad, total[np.array([2, 1, 0])])


@pytest.mark.slow
@formats
def test_second_derivatives_through_a_plan(small):
    # The rules are above the choice of a backend, and the reference has nothing to compile.
    with jax.enable_x64(True), ffi_bridge.use_backend("reference"):
        A = small().astype("float64").plan()
        x = jnp.array([1.5, 0.0, -2.0])

        def loss(w, x):
            return jnp.sin(A.with_data(w) @ Events(x))

        check_grads(loss, (A.data, x), order=2, atol=1e-4, rtol=1e-4)
        batched = jax.vmap(jax.grad(lambda w, x: loss(w, x).sum()), (0, None))
        ws = jnp.stack([A.data, -A.data])
        singles = [jax.grad(lambda w: loss(w, x).sum())(w) for w in ws]
        np.testing.assert_allclose(batched(ws, x), jnp.stack(singles))
        tangent = jax.jvp(lambda x: A @ Events(x), (x,), (jnp.ones_like(x),))[1]
        np.testing.assert_allclose(tangent, A @ jnp.ones_like(x))


@formats
def test_checkpoint_gives_the_same_gradient(small):
    A = small().plan()

    def loss(w):
        return jnp.tanh(jnp.tanh(A.with_data(w) @ Events(V)) @ A).sum()

    np.testing.assert_allclose(jax.grad(jax.checkpoint(loss))(A.data), jax.grad(loss)(A.data))


@formats
@pytest.mark.parametrize("planned", [False, True])
def test_an_exported_function_takes_and_gives_matrices(small, planned):
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    A = small().plan() if planned else small()
    with ffi_bridge.use_backend("reference"):
        exported = jax.export.export(jax.jit(lambda A, e: (2 * A, A @ e)))(A, Events(SPIKES))
    again = jax.export.deserialize(exported.serialize())
    doubled, y = again.call(A, Events(SPIKES))
    np.testing.assert_array_equal(y, DENSE @ SPIKES)
    np.testing.assert_array_equal(doubled @ V, 2 * Y)


def test_exported_programs_know_a_matrix_by_the_names_that_earlier_ones_have():
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    program = jax.export.export(jax.jit(lambda A, e: A.data.sum()))(
        small().plan(), Events(SPIKES)
    ).serialize()
    names = b"event_ops.CSR", b"event_ops.csr_plan.ByColumn", b"event_ops.Events"
    for text in (*names, b"[[2, 3], false]", b"flags"):
        assert text in program
