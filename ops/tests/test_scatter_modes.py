"""Indices out of range: dropped, clipped or an error, outside of jit and inside it, as the docstrings say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import scatter_add, segment_sum

# JAX raises the second, with the same text, where dispatch itself meets the error.
RUN_ERRORS = (jax.errors.JaxRuntimeError, ValueError)

DATA = jnp.arange(1.0, 6.0)
INSIDE, OUTSIDE = jnp.array([0, 2, 1, 2, 0]), jnp.array([0, 2, 3, -4, 1])


def scattered(data, indices, **kwargs):
    return scatter_add(jnp.zeros(3, data.dtype), indices, data, **kwargs)


def summed(data, indices, **kwargs):
    return segment_sum(data, indices, 3, **kwargs)


both = pytest.mark.parametrize("operator", [scattered, summed])
backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference"])


@both
@backends
def test_known_indices_out_of_range_are_an_index_error(operator, backend):
    with pytest.raises(IndexError, match=r"contains 3, and 2 out of range in all; expected values in \["):
        operator(DATA, OUTSIDE, mode="error", backend=backend)
    known = jax.jit(lambda data: operator(data, OUTSIDE, mode="error", backend=backend))
    with pytest.raises(IndexError, match="contains 3"):
        known(DATA)


@both
@backends
def test_known_indices_in_range_are_no_error_on_any_backend(operator, backend):
    for f in (
        operator,
        jax.jit(lambda data, _, **kw: operator(data, INSIDE, **kw), static_argnames=("mode",)),
    ):
        options = {"backend": backend} if f is operator else {}
        np.testing.assert_array_equal(f(DATA, INSIDE, mode="error", **options), [6, 3, 6])


def test_what_counts_from_the_end_is_in_range_for_one_and_not_for_the_other():
    ends = jnp.array([-1, 0, 0, 0, 0])
    np.testing.assert_array_equal(scattered(DATA, ends, mode="error"), [14, 0, 1])
    with pytest.raises(IndexError, match="contains -1"):
        summed(DATA, ends, mode="error")


@both
@pytest.mark.parametrize("copies", [1, pytest.param(10_000, marks=pytest.mark.slow)])
def test_traced_indices_out_of_range_are_an_error_when_run(operator, copies):
    f = jax.jit(lambda data, indices: operator(data, indices, mode="error", backend="numba_cpu"))
    data, inside, outside = (jnp.tile(x, copies) for x in (DATA, INSIDE, OUTSIDE))
    np.testing.assert_array_equal(f(data, inside), copies * np.array([6, 3, 6]))
    with pytest.raises(RUN_ERRORS, match=r"IndexError.*an index is out of range"):
        jax.block_until_ready(f(data, outside))


@both
def test_one_bad_index_of_a_batch_is_an_error(operator):
    f = jax.vmap(lambda indices: operator(DATA, indices, mode="error", backend="numba_cpu"))
    np.testing.assert_array_equal(f(jnp.stack([INSIDE, INSIDE])), [[6, 3, 6]] * 2)
    with pytest.raises(RUN_ERRORS, match="an index is out of range"):
        jax.block_until_ready(f(jnp.stack([INSIDE, OUTSIDE])))


@both
def test_the_reference_refuses_what_it_cannot_keep(operator):
    f = jax.jit(lambda indices: operator(DATA, indices, mode="error", backend="reference"))
    with pytest.raises(NotImplementedError, match=r"numba_cpu.*known when traced.*'drop' or 'clip'"):
        f(INSIDE)


@both
def test_an_error_has_derivatives(operator):
    def total(data, indices):
        return jnp.vdot(operator(data, indices, mode="error", backend="numba_cpu"), jnp.arange(3.0))

    np.testing.assert_array_equal(jax.jit(jax.grad(total))(DATA, INSIDE), INSIDE.astype(float))
    with pytest.raises(RUN_ERRORS, match="an index is out of range"):
        jax.block_until_ready(jax.jit(jax.value_and_grad(total))(DATA, OUTSIDE))
    with pytest.raises(RUN_ERRORS, match="an index is out of range"):
        jax.block_until_ready(jax.jit(jax.grad(total))(DATA, OUTSIDE))


def test_an_error_has_derivatives_in_one_update_for_all():
    def total(target, indices, update):
        return jnp.vdot(scatter_add(target, indices, update, mode="error"), jnp.arange(3.0))

    derivatives = jax.jit(jax.grad(total, argnums=(0, 2)))
    for_target, for_update = derivatives(jnp.zeros(3), INSIDE, jnp.float32(2))
    np.testing.assert_array_equal(for_target, [0, 1, 2])
    assert float(for_update) == int(INSIDE.sum())
    with pytest.raises(RUN_ERRORS, match="an index is out of range"):
        jax.block_until_ready(derivatives(jnp.zeros(3), OUTSIDE, jnp.float32(2)))


@pytest.mark.parametrize(("update", "dtype"), [(0.9, "i4"), (np.float64(2), "u4"), (1j, "i4"), (1j, "f4")])
def test_a_number_of_another_kind_than_the_target_is_refused(update, dtype):
    with pytest.raises(TypeError, match=r"updates is .*, and target has dtype .*cast target: target.astype"):
        scatter_add(np.zeros(3, dtype), np.array([0]), update)


@pytest.mark.parametrize(("update", "dtype"), [(2, "u4"), (2, "f4"), (2.0, "c8"), (True, "i4")])
def test_a_number_takes_the_dtype_of_the_target(update, dtype):
    found = scatter_add(np.zeros(3, dtype), np.array([0]), update)
    assert found.dtype == dtype and found.tolist() == [update, 0, 0]


@both
@backends
@pytest.mark.parametrize(("mode", "expected"), [("drop", [1, 0, 0]), ("clip", [5, 0, 10])])
def test_no_index_is_cut_to_fewer_bits(operator, backend, mode, expected):
    # 2**32 would be 0, and 2**32 + 1 would be 1.
    with jax.enable_x64(True):
        indices, data = np.array([0, 2**32, 2**32 + 1, -(2**32), 2**63 - 1]), DATA.astype("float32")
        options = {"mode": mode, "backend": backend}
        np.testing.assert_array_equal(operator(data, indices, **options), expected)
        pulled = jax.grad(lambda d: operator(d, indices, **options)[0])(data)
        np.testing.assert_array_equal(pulled, [1, 0, 0, mode == "clip", 0])


@both
@backends
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_ids_narrower_than_the_axis_point_where_they_say(operator, backend, dtype):
    top = np.iinfo(dtype).max
    ids = np.array([0, top, top], dtype)
    for mode in ("drop", "clip", "error"):
        y = segment_sum(np.ones(3, "f"), ids, 1000, mode=mode, backend=backend)
        np.testing.assert_array_equal(y, np.bincount(ids, minlength=1000))


@backends
@pytest.mark.parametrize("ascending", [False, True])
def test_segment_sum_is_that_of_jax(backend, ascending):
    rng = np.random.default_rng(0)
    data, ids = rng.integers(-9, 9, (60, 2)), rng.integers(-3, 12, 60)
    ids = np.sort(ids) if ascending else ids
    options = {"indices_are_sorted": ascending}
    y = jax.jit(lambda d, i: segment_sum(d, i, 9, backend=backend, **options))(data, ids)
    np.testing.assert_array_equal(y, jax.ops.segment_sum(data, ids, 9, **options))


def test_ids_that_are_not_sorted_as_promised_stay_inside_the_arrays():
    # The sums are not defined then, but each adds what is there, or less.
    ids = np.random.default_rng(0).integers(-5, 405, 50_000)
    y = segment_sum(np.ones(ids.size, "f"), ids, 400, indices_are_sorted=True, backend="numba_cpu")
    there = np.bincount(ids[(ids >= 0) & (ids < 400)], minlength=400)
    assert y.shape == (400,)
    assert ((y >= 0) & (np.asarray(y) <= there)).all()


def test_num_segments_must_be_static():
    with pytest.raises(TypeError, match="known when traced"):
        jax.jit(lambda n: segment_sum(DATA, INSIDE, n))(3)
