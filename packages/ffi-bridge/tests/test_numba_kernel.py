"""numba_kernel: outputs, shapes, dtypes, identity, aliases, JAX's control flow."""

import inspect

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_kernel
from ffi_bridge.abi import DTYPES
from ffi_bridge.targets import targets

F32 = jnp.float32


def struct(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


@numba.njit
def add(x, y, out):
    for i in range(out.size):
        out[i] = x[i] + y[i]


@numba.njit
def copy(x, out):
    out[...] = x


@numba.njit
def split(x, low, high):
    for i in range(x.size):
        low[i] = min(x[i], 0)
        high[i] = max(x[i], 0)


@numba.njit
def count(out):
    for i in range(out.size):
        out[i] = i


@numba.njit
def decay_in_place(x, spikes, out):
    for i in range(out.size):
        out[i] = out[i] * np.float32(0.5) + spikes[i]


def test_one_struct_gives_one_array():
    out = numba_kernel(add, struct(3))(jnp.arange(3.0), jnp.ones(3))
    assert isinstance(out, jax.Array)
    np.testing.assert_array_equal(out, [1, 2, 3])


@pytest.mark.parametrize(
    "outs",
    [
        (struct(3), struct(3)),
        [struct(3), struct(3)],
        {"low": struct(3), "sub": {"up": struct(3)}},
        (struct(3), [struct(3)]),
    ],
)
def test_the_result_has_the_structure_of_outs(outs):
    result = numba_kernel(split, outs)(jnp.array([-1.0, 0.0, 2.0]))
    assert jax.tree.structure(result) == jax.tree.structure(outs)
    low, high = jax.tree.leaves(result)
    np.testing.assert_array_equal(low, [-1, 0, 0])
    np.testing.assert_array_equal(high, [0, 0, 2])


@pytest.mark.slow_cases("shape5")
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (2, 3), (2, 1, 3, 2, 2)])
def test_any_rank_and_size(shape):
    x = jnp.arange(np.prod(shape, dtype=int), dtype=F32).reshape(shape)
    np.testing.assert_array_equal(numba_kernel(copy, struct(*shape))(x), x)


def test_arrays_are_c_ordered():
    @numba.njit
    def ravel(x, out):
        for i, v in enumerate(x.flat):
            out[i] = v * x.shape[0]

    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jax.jit(lambda x: numba_kernel(ravel, struct(6))(x.T))(x), x.T.ravel() * 3)


def test_no_inputs():
    np.testing.assert_array_equal(numba_kernel(count, struct(4))(), np.arange(4))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(np.array([0, 1, 3]).astype(dtype))
        out = numba_kernel(copy, struct(3, dtype=dtype))(x)
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, x)


def test_numpy_arrays_and_python_scalars_are_inputs():
    np.testing.assert_array_equal(numba_kernel(add, struct(2))(np.ones(2, np.float32), jnp.ones(2)), 2)
    assert numba_kernel(copy, struct())(2.5) == 2.5


def names(prefix):
    return [name for name in targets() if name.startswith(f"{prefix}.numba_cpu.")]


def test_one_target_for_a_kernel_wrapped_many_times():
    def define():
        @numba.njit
        def wrapped_often(x, out):
            out[...] = x

        return wrapped_often

    same = define()
    for _ in range(20):
        numba_kernel(same, struct(3))(jnp.ones(3))
        numba_kernel(define(), struct(5))(jnp.ones(5))
    assert len(names("wrapped_often")) == 1
    numba_kernel(same, struct(3, 3))(jnp.ones((3, 3)))
    assert len(names("wrapped_often")) == 2


def test_options_and_closures_make_targets_of_their_own():
    def define(factor, **options):
        @numba.njit(**options)
        def scaled_by(x, out):
            for i in numba.prange(out.size):
                out[i] = x[i] * factor

        return numba_kernel(scaled_by, struct(3))(jnp.ones(3))

    np.testing.assert_array_equal(define(2.0), 2)
    np.testing.assert_array_equal(define(3.0), 3)
    np.testing.assert_array_equal(define(2.0, fastmath=True), 2)
    np.testing.assert_array_equal(define(2.0, parallel=True), 2)
    assert len(names("scaled_by")) == 4


def test_the_target_is_named_after_the_kernel_in_the_program():
    text = jax.jit(numba_kernel(add, struct(3))).lower(jnp.ones(3), jnp.ones(3)).as_text()
    assert any(name in text for name in names("add"))


class TestAliases:
    kernel = staticmethod(numba_kernel(decay_in_place, struct(1000), input_output_aliases={0: 0}))

    def test_eager_input_survives(self):
        x = jnp.ones(1000)
        np.testing.assert_array_equal(self.kernel(x, jnp.ones(1000)), 1.5)
        np.testing.assert_array_equal(x, 1)

    def test_a_scan_updates_in_place(self):
        def run(x, spikes):
            return jax.lax.scan(lambda x, s: (self.kernel(x, s), None), x, spikes)[0]

        x, spikes = jnp.ones(1000), jnp.ones((5, 1000))
        compiled = jax.jit(run, donate_argnums=0).lower(x, spikes).compile()
        body = [line for line in compiled.as_text().splitlines() if "f32[1000]" in line]
        # slices of the spikes are scalars' work; a copy of the state would be an instruction of its own
        assert not any(" copy(" in line for line in body), "\n".join(body)
        expected = 1.0
        for _ in range(5):
            expected = expected * 0.5 + 1
        np.testing.assert_allclose(compiled(x, spikes), expected)

    def test_donation(self):
        x = jnp.ones(1000)
        run = jax.jit(self.kernel, donate_argnums=0)
        np.testing.assert_array_equal(run(x, jnp.ones(1000)), 1.5)
        assert x.is_deleted()

    def test_batches_repeat_an_unbatched_alias(self):
        spikes = jnp.arange(2000.0).reshape(2, 1000)
        out = jax.vmap(self.kernel, in_axes=(None, 0))(jnp.ones(1000), spikes)
        np.testing.assert_array_equal(out, 0.5 + spikes)


class TestControlFlow:
    f = staticmethod(numba_kernel(add, struct(3)))

    def test_jit_scan_while_cond_remat(self):
        @jax.jit
        def run(x):
            x, _ = jax.lax.scan(lambda c, _: (self.f(c, c), None), x, None, length=3)
            x = jax.lax.while_loop(lambda c: c[0] < 100, lambda c: self.f(c, c), x)
            x = jax.lax.cond(x[0] > 0, lambda x: self.f(x, x), lambda x: x, x)
            return jax.checkpoint(self.f)(x, x)

        np.testing.assert_array_equal(run(jnp.ones(3)), 512)

    @pytest.mark.parametrize("method", [None, "sequential"])
    def test_without_jit(self, method):
        f = numba_kernel(add, struct(3), vmap_method=method)
        with jax.disable_jit():
            np.testing.assert_array_equal(f(jnp.ones(3), jnp.ones(3)), 2)
            np.testing.assert_array_equal(jax.vmap(f)(jnp.ones((2, 3)), jnp.ones((2, 3))), 2)
            looped, _ = jax.lax.scan(lambda c, _: (f(c, c), None), jnp.ones(3), None, length=3)
        np.testing.assert_array_equal(looped, 8)

    def test_custom_vjp_around_it(self):
        @jax.custom_vjp
        def double(x):
            return self.f(x, x)

        double.defvjp(lambda x: (double(x), None), lambda _, ct: (self.f(ct, ct),))
        np.testing.assert_array_equal(jax.grad(lambda x: double(x).sum())(jnp.ones(3)), 2)

    def test_export_and_call(self):
        pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
        exported = jax.export.export(
            jax.jit(self.f),
            disabled_checks=[jax.export.DisabledSafetyCheck.custom_call(n) for n in names("add")],
        )(jnp.ones(3), jnp.ones(3))
        again = jax.export.deserialize(exported.serialize())
        np.testing.assert_array_equal(again.call(jnp.ones(3), jnp.ones(3)), 2)


@pytest.mark.parametrize("options", [{}, {"parallel": True}], ids=["serial", "parallel"])
def test_the_signature_is_that_of_the_inputs(options):
    @numba.njit(**options)
    def scale(x, factor, out, twice):
        out[:] = x * factor
        twice[:] = 2 * x * factor

    f = numba_kernel(scale, [jax.ShapeDtypeStruct((3,), jnp.float32)] * 2)
    assert list(inspect.signature(f).parameters) == ["x", "factor"]
    differentiable = jax.custom_vjp(f)  # binds its arguments to the signature
    differentiable.defvjp(
        lambda x, factor: (f(x, factor), factor), lambda factor, ct: (factor * ct[0], 0 * factor)
    )
    slope = jax.grad(lambda x: differentiable(x, jnp.full(3, 4.0))[0].sum())(jnp.ones(3))
    np.testing.assert_array_equal(slope, 4)
