"""Where there is no derivative the error says why, and a kernel that raises does so in its derivatives."""

import ctypes
import math
import stat
import sys

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, name, needs_enzyme, normal

from ffi_bridge.errors import KernelDefinitionError, MissingRuleError
from ffi_bridge.numba_cpu.derivatives import compile, enzyme

pytestmark = needs_enzyme
LARGE = np.ones(1_000_001, np.uint8)  # Numba takes it by its address
PAIR = np.dtype([("first", np.float64), ("second", np.float64)])
sine = ctypes.CDLL(None).sin
sine.restype, sine.argtypes = ctypes.c_double, [ctypes.c_double]


@numba.njit
def roots(x, y):
    for i in range(x.size):
        if x[i] < 0:
            raise ValueError("negative", x[i])
        y[i] = np.sqrt(x[i])


ROOTS = differentiable(roots, lambda x: x)
BATCH = jnp.array([[1.0, 4.0], [4.0, -2.0]])


def slope(x):
    return jax.grad(lambda x: ROOTS(x).sum())(x)


@pytest.mark.parametrize(
    ("derivative", "kernel"),
    [
        (lambda x: jax.jvp(ROOTS, (x[1],), (x[1],))[1], "roots_jvp"),
        (lambda x: slope(x[1]), "roots_vjp"),
        (lambda x: jax.vmap(slope)(x), "roots_vjp"),
        (lambda x: jax.jvp(slope, (x[1],), (x[1],))[1], "roots_jvp_of_vjp"),
    ],
    ids=["jvp", "grad", "vmap", "second"],
)
def test_a_derivative_raises_what_its_kernel_raises(derivative, kernel):
    call = jax.jit(derivative)
    call(jnp.abs(BATCH))
    for _ in range(2):
        with pytest.raises(Exception, match=rf"kernel '{kernel}' raised ValueError: \('negative', -2\.0\)"):
            jax.block_until_ready(call(BATCH))
    assert np.isfinite(call(jnp.abs(BATCH))).all()


@numba.njit
def divides(x, y):
    for i in range(x.size):
        y[i] = 1.0 / x[i]


@numba.njit(boundscheck=True)
def beyond(x, y):
    y[:] = x[x.size]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(divides, "ZeroDivisionError: division by zero"), (beyond, "IndexError: index is out of bounds")],
)
def test_numba_itself_raises(kernel, message):
    f = differentiable(kernel, lambda x: x)
    with pytest.raises(Exception, match=f"kernel '{kernel.__name__}_vjp' raised {message}"):
        jax.block_until_ready(jax.jit(jax.grad(lambda x: f(x).sum()))(jnp.zeros(2)))


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
    flattened_columns: "llvm.masked.*; write out what functions of NumPy do",
    gamma: "numba_gamma; write it with functions that have derivatives",
    looked_up: "a C function or a large array by its address",
    factorial: "lgamma; write it with functions that have derivatives",
    in_c: "a C function or a global array by its address",
}


@pytest.mark.parametrize(("kernel", "reason"), REFUSED.items(), ids=map(name, REFUSED))
def test_what_enzyme_does_not_follow_is_refused(kernel, reason):
    f = differentiable(kernel, lambda x: x)
    assert jnp.isfinite(f(normal(2, 2))).all()  # without derivatives it runs
    for derivative in jax.jacfwd(f), jax.jacrev(f):
        with pytest.raises(MissingRuleError, match=f"kernel '{kernel.__name__}'.*{reason}.*jax.custom_vjp"):
            jax.jit(derivative).lower(normal(2, 2))


@numba.njit
def flattened(x, y):
    w = x * x
    z = w[1:4].flatten()
    y[:] = z[1] * z[0] + w


def test_a_copy_of_unknown_numbers_is_refused():
    f = differentiable(flattened, lambda x: x)
    with pytest.raises(MissingRuleError, match="'flattened'.* copies an array, .*; copy it in a loop"):
        jax.jit(jax.grad(lambda x: f(x).sum())).lower(normal(5))


@numba.njit
def worded_elsewhere(x, y):
    y[:] = x * len(str(x.size))


def test_strings_are_never_taken_for_something_else(monkeypatch):
    """Where one were not found when the call is traced, the derivative would fail."""
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


@numba.njit
def cube(x, y):
    for i in np.ndindex(x.shape):
        y[i] = x[i] ** 3


CUBE = differentiable(cube, lambda x: x)


def test_a_third_derivative_is_refused():
    third = jax.grad(jax.grad(jax.grad(lambda x: CUBE(x))))
    with pytest.raises(MissingRuleError, match=r"'cube': its derivative of order 3 .* orders up to 2 exist"):
        third(jnp.float64(2))


@pytest.mark.parametrize("effect", ["has_side_effect", "ordered"])
def test_side_effects_are_refused(effect):
    with pytest.raises(KernelDefinitionError, match="'cube' is differentiable and has side effects"):
        differentiable(cube, lambda x: x, **{effect: True})(1.0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_refused(dtype):
    with pytest.raises(
        MissingRuleError, match=f"'cube': 'x' is {dtype}.* or give a complex number as its parts"
    ):
        jax.grad(lambda x: CUBE(x).real)(jnp.ones((), dtype))


@numba.njit
def never_kept(x, y):
    for i in range(x.size):
        y[i] = x[i] * 11.25


@pytest.fixture
def uncached(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path


def grad_of_never_kept():
    f = differentiable(never_kept, lambda x: x)
    return jax.grad(lambda x: f(x).sum())(jnp.ones(3))


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("kill -ABRT $$", "'never_kept': Enzyme cannot differentiate it"),
        ("echo 'LLVM ERROR: out of luck' >&2; kill -ABRT $$", "LLVM ERROR: out of luck"),
        (f'exec {sys.executable} -S -I "$2" "$3"', "this Python has no package enzyme-ad"),
    ],
    ids=["abort", "abort with a message", "no package"],
)
def test_a_compiler_that_dies_is_no_end_of_the_process(uncached, monkeypatch, does, says):
    monkeypatch.setenv(enzyme.VARIABLE, script(uncached / "python", does))
    with pytest.raises(MissingRuleError, match=says):
        grad_of_never_kept()


def test_a_python_that_is_not_there_is_named(uncached, monkeypatch):
    monkeypatch.setenv(enzyme.VARIABLE, str(uncached / "nowhere"))
    with pytest.raises(MissingRuleError, match=f"{enzyme.VARIABLE} is '.*/nowhere', which does not run"):
        grad_of_never_kept()


def test_without_enzyme_it_says_what_to_install(uncached, monkeypatch):
    monkeypatch.delenv(enzyme.VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingRuleError, match=rf"ffi-bridge\[enzyme\].*{enzyme.VARIABLE}"):
        enzyme.python()
