"""What a kernel reads from outside is that of its wrapping in all its forms, or a form is refused by name."""

import re

import jax
import jax.numpy as jnp
import numba
import numpy as np
import outside
import pytest
from derivatives import differentiable, name, why_not

from ffi_bridge import export, numba_function, numba_kernel
from ffi_bridge.errors import KernelChangedError

X = np.array([1.0, 3.0], np.float32)


def like(x):
    return x


def struct(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


# Each form, of whose results the first number is that of the kernel.
FORMS = {
    "shape": lambda f: f(np.ones(5, np.float32)),
    "rank": lambda f: f(np.ones((1, 1), np.float32)),
    "dtype": lambda f: f(np.ones(2, np.int32)),
    "batch": lambda f: jax.vmap(f)(np.ones((3, 2), np.float32)),
    "trace": lambda f: jax.jit(lambda x: f(x * 1))(np.ones(7, np.float32)),
    "export": lambda f: export.export(jax.jit(lambda x: f(x)))(struct(4)).call(np.ones(4, np.float32)),
}
DERIVATIVES = {
    "jvp": lambda f: jax.jvp(f, (X,), (np.ones_like(X),))[1],
    "vjp": lambda f: jax.vjp(f, X)[1](np.ones_like(X))[0],
    "jvp of a batch": lambda f: jax.vmap(lambda x: jax.jvp(f, (x,), (x * 0 + 1,))[1])(np.stack([X, X])),
}


def first(form, f):
    return float(np.ravel(form(f))[0])


def flat(kernel):
    """The kernel for arrays of any rank."""

    @numba.njit
    def of_any(x, y):
        kernel(x.reshape(x.size), y.reshape(y.size))

    return of_any


def check(f, again, form, wanted, change):
    """Check a form of `f`, before which its value was taken, and of what is wrapped anew after a change."""
    np.testing.assert_array_equal(f(X), 2 * X)
    change(5.0)
    np.testing.assert_array_equal(f(X), 2 * X)  # compiled before
    text = rf"was wrapped when {re.escape(wanted)}.* was .*, and now it is .*; wrap it again"
    with pytest.raises(KernelChangedError, match=text):
        first(form, f)
    g = again()
    assert first(form, g) == 5
    np.testing.assert_array_equal(g(X), 5 * X)
    change(2.0)
    assert first(form, f) == 2
    np.testing.assert_array_equal(f(X), 2 * X)
    with pytest.raises(KernelChangedError):
        jax.jit(lambda x: g(x))(np.ones(11, np.float32))


@pytest.mark.parametrize("way", outside.WAYS, ids=name)
def test_a_change_of_it_is_refused_by_name(way):
    kernel, wanted, change = way()

    def wrapped():
        return numba_kernel(kernel, like)

    check(wrapped(), wrapped, FORMS["batch"], wanted, change)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_refused(form):
    kernel, _, change = outside.a_global()

    def wrapped():
        return numba_kernel(flat(kernel), like)

    check(wrapped(), wrapped, FORMS[form], "GAIN", change)


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("form", DERIVATIVES)
@pytest.mark.parametrize("way", [outside.a_global, pytest.param(outside.a_callee, marks=pytest.mark.slow)])
def test_each_derivative_is_refused(way, form):
    kernel, wanted, change = way()

    def wrapped():
        return differentiable(kernel, like)

    check(wrapped(), wrapped, DERIVATIVES[form], wanted, change)


def test_of_a_function_that_returns():
    kernel, wanted, change = outside.a_function(np.float32(2))

    def wrapped():
        return numba_function(kernel, like)

    check(wrapped(), wrapped, FORMS["batch"], wanted, lambda x: change(np.float32(x)))


def test_of_a_universal_function():
    kernel, wanted, change = outside.a_function()
    each = numba.vectorize(kernel.py_func)

    def wrapped():
        return numba_function(each)

    check(wrapped(), wrapped, FORMS["dtype"], wanted, change)


def test_a_universal_function_that_is_wrapped_again_has_the_dtype_of_its_number():
    kernel, _, change = outside.a_function(2)
    each = numba.vectorize(kernel.py_func)
    one = np.ones(2, np.int32)
    assert jnp.issubdtype(numba_function(each)(one).dtype, jnp.integer)
    change(0.5)
    assert numba_function(each)(one).tolist() == [0.5, 0.5]


def test_defaults_of_a_function():
    @numba.njit
    def times(x, gain=2.0):
        return x * np.float32(gain)

    f = numba_function(times, like)
    np.testing.assert_array_equal(f(X), 2 * X)
    times.py_func.__defaults__ = (5.0,)
    with pytest.raises(KernelChangedError, match="its defaults was"):
        f(np.ones(3, np.float32))


def test_a_name_that_is_bound_later_is_held_from_then_on():
    own = outside.module(outside.LOOP.format(factor="GAIN"))
    f = numba_kernel(own.kernel, like)
    own.GAIN = 2.0
    np.testing.assert_array_equal(f(X), 2 * X)
    own.GAIN = 5.0
    with pytest.raises(KernelChangedError, match=r"when GAIN was 2\.0, and now it is 5\.0"):
        jax.vmap(f)(np.stack([X, X]))


def test_what_is_the_same_again_is_no_change():
    """A cell of a notebook that is run again makes other objects of equal contents."""
    text = "def kernel(v): return 2.0 * v"
    own = outside.module(
        "def kernel(x, y):\n    for i in range(x.size): y[i] = inner(x[i]) * A[0]",
        inner=outside.module(text).kernel,
        A=np.ones(3),
    )
    f = numba_kernel(own.kernel, like)
    f(X)
    own.inner, own.A = outside.module(text).kernel, np.ones(3)
    np.testing.assert_array_equal(jax.vmap(f)(np.stack([X, X]))[1], 2 * X)


def test_a_dispatcher_that_the_user_compiles_again():
    """Numba's own code of a callee is not that of the kernel, whichever was compiled last."""
    inner = outside.module("def kernel(v): return GAIN * v", GAIN=2.0)
    own = outside.module(
        "def kernel(x, y):\n    for i in range(x.size): y[i] = inner(x[i])", inner=inner.kernel
    )
    f = numba_kernel(own.kernel, like)
    np.testing.assert_array_equal(f(X), 2 * X)
    inner.GAIN = 5.0
    inner.kernel.recompile()
    assert inner.kernel(np.float32(1)) == 5
    inner.GAIN = 2.0
    np.testing.assert_array_equal(jax.vmap(f)(np.stack([X, X]))[0], 2 * X)
    g = numba_kernel(own.kernel, like)
    np.testing.assert_array_equal(g(X), 2 * X)


def test_the_message_is_short():
    own = outside.module(outside.LOOP.format(factor="GAINS[0]"), GAINS=np.zeros(1000))
    f = numba_kernel(own.kernel, like)
    own.GAINS[3] = 1
    with pytest.raises(
        KernelChangedError, match=r"when GAINS was an array float64\[1000\], and now it is another"
    ):
        f(X)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_form_ever_belongs_to_another_number(seed):
    """In any order of changes, wrappings and forms, a result is that of the wrapping, or refused by name."""
    random, way = np.random.default_rng(seed), outside.WAYS[seed * 2 % len(outside.WAYS)]
    derivable = not why_not() and way is not outside.a_class  # whose objects Enzyme does not follow
    forms = [FORMS["batch"], FORMS["shape"], lambda f: f(X), lambda f: jax.jit(jax.vmap(f))(np.stack([X, X]))]
    forms += list(DERIVATIVES.values()) if derivable else []
    kernel, _, change = way()
    wrapped, outcomes, number = [], {"right": 0, "refused": 0}, 2.0
    for _ in range(60):
        match int(random.integers(4)):
            case 0:
                number = float(random.choice([2.0, 5.0]))
                change(number)
            case 1:
                wrapped.append((numba_kernel(kernel, like, differentiable=derivable), number))
            case _ if wrapped:
                f, expected = wrapped[random.integers(len(wrapped))]
                if random.integers(4) == 0:
                    jax.clear_caches()
                try:
                    assert first(forms[random.integers(len(forms))], f) == expected
                    outcomes["right"] += 1
                except KernelChangedError:
                    assert number != expected
                    outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes
