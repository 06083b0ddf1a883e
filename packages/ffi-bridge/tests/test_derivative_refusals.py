"""What Enzyme does not follow is refused when a derivative is traced, by its name, with what to do."""

import ctypes
import inspect
import math
import re

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, name, needs_enzyme, normal

from ffi_bridge.errors import MissingRuleError
from ffi_bridge.numba_cpu.derivatives import compile

pytestmark = needs_enzyme
LARGE = np.ones(1_000_001, np.uint8)  # Numba takes it by its address
PAIR = np.dtype([("first", np.float64), ("second", np.float64)])
sine = ctypes.CDLL(None).sin
sine.restype, sine.argtypes = ctypes.c_double, [ctypes.c_double]


@numba.njit
def product(x, y):
    y[:] = x @ x


@numba.njit
def dot(x, y):
    y[:] = np.dot(x, x)


@numba.njit
def inverse(x, y):
    y[:] = np.linalg.inv(x)


@numba.njit
def listed(x, y):
    kept = [0.0]
    for v in x.flat:
        kept.append(v)
    y[:] = kept[1]


@numba.njit
def in_a_dict(x, y):
    kept = {0: x[0, 0]}
    y[:] = kept[0]


@numba.njit
def noisy(x, y):
    y[:] = x * np.random.random()


@numba.njit
def in_c(x, y):
    y[:] = sine(x[0, 0])


@numba.njit
def in_a_set(x, y):
    kept = {x[0, 0], x[1, 1]}
    y[:] = len(kept) * x


@numba.njit
def recorded(x, y):
    kept = np.zeros(2, PAIR)
    kept[0].first = x[0, 0]
    y[:] = kept[0].first


@numba.njit
def worded(x, y):
    y[:] = x * len(str(x.size))


@numba.njit
def factorial(x, y):
    y[:] = math.lgamma(x[0, 0])


@numba.njit
def printed(x, y):
    print(x[0, 0])
    y[:] = x


@numba.njit
def flattened_columns(x, y):
    w = x * x
    y[:] = w[:, 1:].flatten()[0]


@numba.njit
def gamma(x, y):
    y[:] = math.gamma(x[0, 0] ** 2)


@numba.njit
def looked_up(x, y):
    y[:] = LARGE[0] * x


REFUSED = {
    product: "numba_xx.*; write products of matrices and linear algebra as loops",
    dot: "numba_xx.*; write products of matrices and linear algebra as loops",
    inverse: "numba_xx.*; write products of matrices and linear algebra as loops",
    listed: "use .* lists of known length in place of lists that grow",
    in_a_dict: "numba_dict.*; use arrays, numbers",
    in_a_set: "use arrays, numbers .* in place of .* sets",
    recorded: "elements of an array of records; use an array for each field",
    worded: "strings, and not only to raise an exception; use arrays, numbers",
    noisy: "numba_rnd.*; pass random numbers as an input",
    printed: "Py.*; use arrays, numbers",
    gamma: "numba_gamma; write it with functions that have derivatives",
    looked_up: "a C function or a large array by its address",
    factorial: "lgamma; write it with functions that have derivatives",
    in_c: "a C function or a global array by its address",
}


@pytest.mark.parametrize(("kernel", "reason"), REFUSED.items(), ids=map(name, REFUSED))
def test_what_enzyme_does_not_follow_is_refused(kernel, reason):
    f = differentiable(kernel, lambda x: x)
    assert jnp.isfinite(f(normal(2, 2))).all()  # without derivatives it runs
    lines, start = inspect.getsourcelines(kernel.py_func)
    for derivative in jax.jacfwd(f), jax.jacrev(f):
        with pytest.raises(
            MissingRuleError, match=f"kernel '{kernel.__name__}'.*{reason}.*jax.custom_vjp"
        ) as refused:
            jax.jit(derivative).lower(normal(2, 2))
        places = re.findall(r", at (\S+):(\d+), `(.*?)`(?=, at|:)", str(refused.value))
        assert places
        for file, number, code in places:
            assert file == __file__ and lines[int(number) - start].strip() == code


@numba.njit
def length_of(number):
    return len(str(number))


@numba.njit
def worded_by_another(x, y):
    if x.size > 100:
        raise ValueError(f"{x.size} elements")
    y[:] = x * length_of(x.size)


def test_the_line_is_that_of_a_callee_and_none_that_raises():
    f = differentiable(worded_by_another, lambda x: x)
    text = (
        r"by Enzyme, at \S*test_derivative_refusals\.py:\d+, `return len\(str\(number\)\)`: it uses strings"
    )
    with pytest.raises(MissingRuleError, match=text):
        jax.jit(jax.jacfwd(f)).lower(np.ones(2))


@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_masked_instructions_are_refused_where_the_processor_has_them(jacobian):
    """On other processors the same kernel has none, and the right derivative."""
    x = normal(2, 2)
    derivative, refusal = jax.jit(jacobian(differentiable(flattened_columns, lambda x: x))), ""
    try:
        found = derivative(x)
    except MissingRuleError as error:
        refusal = str(error)
    if refusal:
        assert re.search(r"llvm.masked.*; write out what functions of NumPy do", refusal)
    else:
        expected = jacobian(lambda x: jnp.full_like(x, x[0, 1] ** 2))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@numba.njit
def worded_elsewhere(x, y):
    y[:] = x * len(str(x.size))


def test_strings_are_never_taken_for_something_else(monkeypatch):
    """A string that is not found when the call is traced makes its derivative fail, not be wrong."""
    monkeypatch.setattr(compile, "refused_in", lambda _: [])
    f = differentiable(worded_elsewhere, lambda x: x)
    with pytest.raises(
        Exception, match=r"worded_elsewhere_vjp' raised RuntimeError: .* it follows no strings"
    ):
        jax.block_until_ready(jax.jit(jax.grad(lambda x: f(x).sum()))(np.ones(2)))


@numba.njit
def explained(x, y):
    for i in range(x.size):
        if x[i] < 0:
            raise ValueError(f"{i} of {x.size}")
        y[i] = x[i] ** 2


def test_a_string_of_an_exception_is_no_obstacle():
    f = differentiable(explained, lambda x: x)
    gradient = jax.jit(jax.grad(lambda x: f(x).sum()))
    assert gradient(np.array([1.0, 2.0])).tolist() == [2, 4]
    with pytest.raises(Exception, match="explained_vjp' raised ValueError: 1 of 2"):
        jax.block_until_ready(gradient(np.array([1.0, -2.0])))
