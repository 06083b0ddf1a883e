"""In debug mode a derivative is compared with differences: it raises where it is wrong, and only there."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, needs_enzyme

from ffi_bridge import debug
from ffi_bridge.numba_cpu.derivatives import compile
from ffi_bridge.numba_cpu.derivatives.mode import FORWARD

pytestmark = needs_enzyme
X = np.array([0.5, -1.0, 2.0])


def weighted(weight):
    """Return a kernel; one of its own for every weight, since what a process has compiled it keeps."""

    @numba.njit
    def sums(x, a, count, y):
        count[()] = x.size
        total = 0.0
        for i in range(x.size):
            total += weight * np.sin(x[i]) * a[()]
            y[i] = total

    return sums


def call_of(kernel):
    return differentiable(kernel, lambda x, a: (jax.ShapeDtypeStruct((), "int32"), x))


@pytest.fixture(autouse=True)
def _not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))


DERIVATIVES = {
    "jvp": lambda f, *args: jax.jvp(lambda *args: f(*args)[1], args, args)[1],
    "vjp": lambda f, *args: jax.grad(lambda *args: (f(*args)[1] ** 2).sum(), (0, 1))(*args),
    "jvp of a batch": lambda f, x, a: jax.vmap(lambda x: jax.jvp(f, (x, a), (x, a))[1][1])(
        jnp.stack([x, 2 * x])
    ),
}


SLOW = [pytest.param(x, marks=pytest.mark.slow) for x in ("jvp", "jvp of a batch")]


@pytest.mark.parametrize("of", ["vjp", *SLOW])
def test_a_right_one_passes(of):
    def twin(x, a):
        return x.size, jnp.cumsum(jnp.sin(x) * a)

    with debug.guarded():
        found = jax.jit(lambda x, a: DERIVATIVES[of](call_of(weighted(1.0)), x, a))(X, 1.5)
    for got, wanted in zip(*map(jax.tree.leaves, (found, DERIVATIVES[of](twin, X, 1.5))), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("of", ["jvp", "vjp", SLOW[1]])
def test_a_wrong_one_raises(of, monkeypatch):
    """Enzyme is given the code of another kernel, whose derivative is a hundredth larger."""
    text = compile._text
    monkeypatch.setattr(compile, "_text", lambda _, arguments: text(weighted(2.02), arguments))
    says = f"kernel 'sums_{of[:3]}' raised AssertionError: .*its derivative is not what differences of it say"
    with debug.guarded(), pytest.raises(Exception, match=says):
        jax.block_until_ready(jax.jit(lambda x, a: DERIVATIVES[of](call_of(weighted(2.0)), x, a))(X, 1.5))


@numba.njit
def magnitudes(x, y):
    for i in range(x.size):
        y[i] = abs(x[i])


@pytest.mark.slow
def test_at_a_kink_it_raises():
    f = differentiable(magnitudes, lambda x: x)
    with debug.guarded():
        gradient = jax.jit(jax.grad(lambda x: f(x).sum()))
        assert gradient(np.array([-2.0, 1.0])).tolist() == [-1, 1]
        with pytest.raises(Exception, match="or these inputs are at a kink"):
            jax.block_until_ready(gradient(np.array([0.0, 1.0])))


def test_a_reverse_one_that_is_not_the_forward_one_raises(monkeypatch):
    """Enzyme is given the code of another kernel for the forward mode: differences find nothing."""
    made, texts = compile._differentiated, []
    text = compile._text

    def other(name, code, function, slots, mode, *more):
        if mode == FORWARD:
            code, function = texts.pop()
        return made(name, code, function, slots, mode, *more)

    def both(primal, arguments):
        texts.append(text(weighted(3.0003), arguments))
        return text(primal, arguments)

    monkeypatch.setattr(compile, "_differentiated", other)
    monkeypatch.setattr(compile, "_text", both)
    says = "kernel 'sums_vjp' raised AssertionError: .*its reverse derivative is not that of the forward mode"
    f = call_of(weighted(3.0))
    with debug.guarded(), pytest.raises(Exception, match=says):
        jax.block_until_ready(jax.jit(lambda x, a: DERIVATIVES["vjp"](f, x, a))(X, 1.5))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_kernels_pass(dtype):
    """A reverse mode that adds in another order, updates an input in place, and has numbers."""

    @numba.njit
    def steps(state, rate, y):
        for _ in range(60):
            for i in range(y.size):
                y[i] += 0.01 * np.sin(y[i - 1] * rate) * (1 + y[i] ** 2)

    f = differentiable(steps, lambda x, a: x, scalar_argnames="rate", input_output_aliases={0: 0})
    state, rate = jnp.linspace(-1, 1, 50, dtype=dtype), jnp.asarray(1.5, dtype)
    with debug.guarded():
        found = jax.jit(jax.vmap(jax.grad(lambda x, a: (f(x, a) ** 2).sum(), (0, 1)), (0, None)))(
            jnp.stack([state, state * 0]), rate
        )
    assert all(jnp.isfinite(x).all() for x in found)
