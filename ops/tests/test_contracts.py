"""What the docstrings promise beyond values: NaN, infinity, broken indices, overflow, refractory time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from implemented import backends

from event_ops import csr_event_matvec, csr_matvec, lif_step, scatter_add, spike_compact
from event_ops.catalog.lif_step.cases import CUBA


@backends("csr_matvec")
@pytest.mark.parametrize("transpose", [False, True])
def test_nan_and_infinity_pass_through_a_product(backend, transpose):
    # 0 * inf is not a number, as in any dense product.
    data = np.array([np.nan, 1, np.inf, 1, np.inf], "f")
    indices, indptr = np.array([0, 1, 1, 2, 2]), np.array([0, 1, 3, 5])
    v = np.array([1, 1, 0], "f")
    dense = np.zeros((3, 3), "f")
    np.add.at(dense, (np.repeat([0, 1, 2], np.diff(indptr)), indices), data)
    y = csr_matvec(data, indices, indptr, v, shape=(3, 3), transpose=transpose, backend=backend)
    expected = [np.nan, np.inf, np.nan]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_matvec")
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_inactive_events_hide_any_homogeneous_weight(backend, transpose, weight):
    indices, indptr = np.array([0, 1, 2]), np.array([0, 1, 2, 3])
    for events in (np.array([False, True, False]), np.array([0, 1, 0], "f")):
        y = csr_event_matvec(
            np.float32(weight), indices, indptr, events, shape=(3, 3), transpose=transpose, backend=backend
        )
        np.testing.assert_array_equal(y, np.array([0, weight, 0], "f"))


@backends("csr_event_matvec")
@pytest.mark.parametrize("transpose", [False, True])
def test_a_float_event_that_is_not_a_number_is_active(backend, transpose):
    y = csr_event_matvec(
        np.ones(2, "f"), np.array([0, 1]), np.array([0, 1, 2]), np.array([np.nan, 0], "f"),
        shape=(2, 2), transpose=transpose, backend=backend,
    )  # fmt: skip
    np.testing.assert_array_equal(y, [np.nan, 0])


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_event_matvec")
def test_a_number_is_a_homogeneous_weight(backend):
    with jax.enable_x64(True):
        events = np.array([1.0, 0.0])
        y = csr_event_matvec(0.1, np.array([0]), np.array([0, 1]), events, shape=(1, 2), backend=backend)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, [0.1])


@pytest.mark.promise(1)
@pytest.mark.parametrize("product", [csr_matvec, csr_event_matvec])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("size", [8, 40_000])
def test_a_broken_indptr_stays_inside_the_arrays(product, transpose, size):
    # Its result is not defined, memory outside the arrays is neither read nor written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr = np.array([lowest, highest, -5, 3, highest], np.int32)
    indices = np.full(size, 2, np.int32)
    v = np.ones(4, "f")
    y = product(
        np.ones(size, "f"), indices, indptr, v, shape=(4, 4), transpose=transpose, backend="numba_cpu"
    )
    assert y.shape == (4,)
    assert (np.abs(y) <= 4 * size).all()


@backends("scatter_add")
def test_scatter_add_treats_indices_as_jax_does(backend):
    target = jnp.arange(4.0)
    indices = jnp.array([-1, -4, -5, 3, 4, 2**31 - 1, -(2**31), 0])
    updates = jnp.arange(1.0, 9.0)
    np.testing.assert_array_equal(
        scatter_add(target, indices, updates, backend=backend), target.at[indices].add(updates)
    )


@backends("scatter_add")
def test_integers_wrap_around(backend):
    top = np.array([np.iinfo(np.int32).max], np.int32)
    y = scatter_add(top, np.array([0]), np.ones(1, np.int32), backend=backend)
    assert y[0] == np.iinfo(np.int32).min


@backends("spike_compact")
def test_overflow_shows_in_the_count(backend):
    ids, count = spike_compact(jnp.ones(9, bool), capacity=4, backend=backend)
    assert ids.tolist() == [0, 1, 2, 3]
    assert count == 9
    assert ids.dtype == count.dtype == np.int32


@backends("lif_step")
@pytest.mark.parametrize(
    ("t_ref", "dt", "steps"), [(5.0, 0.1, 50), (2.0, 0.3, 7), (1.0, 1.0, 1), (0.0, 0.1, 0)]
)
def test_a_spike_is_followed_by_the_rounded_number_of_held_steps(backend, t_ref, dt, steps):
    # The sum of dt in single precision misses t_ref by some rounding errors.
    options = CUBA | {"t_ref": t_ref, "dt": dt, "backend": backend}

    def step(state, _):
        V, held, spike = lif_step(*state, jnp.full(1, 1e6), **options)
        return (V, held), spike

    start = (jnp.full(1, -60.0), jnp.zeros(1))
    _, spikes = jax.lax.scan(step, start, None, length=120)
    intervals = np.diff(np.flatnonzero(spikes))
    assert len(intervals) > 0
    assert (intervals == steps + 1).all()


@pytest.mark.slow_cases("numba_cpu")
@backends("lif_step")
def test_the_exact_method_is_exact_whatever_the_step(backend):
    state = jnp.array([-60.0]), jnp.zeros(1)
    for dt, steps in ((0.1, 100), (2.5, 4), (10.0, 1)):
        V, held = state
        for _ in range(steps):
            V, held, _ = lif_step(V, held, jnp.asarray(-3.0), **(CUBA | {"dt": dt}), backend=backend)
        np.testing.assert_allclose(V, -52 - 8 * np.exp(-0.5), rtol=1e-5)
