"""Static values that Python calls equal and a kernel does not: -0.0 and 0.0, 1 and 1.0, and NaNs."""

import enum
import struct
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import XLACustomKernel, numba_function, numba_kernel
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.native.exact import Constants, Exact, exact_key

X = jnp.arange(1.0, 4.0)
OTHER_NAN = struct.unpack("d", struct.pack("Q", 0x7FF8000000000ABC))[0]


@numba.njit
def sign(x, y, c):
    y[:] = np.copysign(x, c)


@numba.njit
def sign_of_first(x, y, c):
    y[:] = np.copysign(x, c[0])


@numba.njit
def returned_sign(x, c=0.0):
    return np.copysign(x, np.float32(c))


@numba.njit
def half(x, y, c):
    y[:] = c // 2 if isinstance(c, int) else c / 2


def like(x, **_):
    return x


sign_kernel = numba_kernel(sign, like, static_argnames="c")
sign_function = numba_function(returned_sign, like, static_argnames="c")


@pytest.mark.parametrize("call", [sign_kernel, sign_function])
def test_minus_zero_is_no_zero(call):
    for c in (0.0, -0.0, 0.0, -0.0):
        np.testing.assert_array_equal(call(X, c=c), np.copysign(X, c))
        np.testing.assert_array_equal(jax.vmap(lambda x, c=c: call(x, c=c))(X[None])[0], np.copysign(X, c))
    both = jax.jit(lambda x: (call(x, c=0.0), call(x, c=-0.0)))(X)
    np.testing.assert_array_equal(both, [X, -X])


def test_within_tuples_too():
    call = numba_kernel(sign_of_first, like, static_argnames="c")
    for c in ((0.0, 1), (-0.0, 1), (0.0, 1.0)):
        np.testing.assert_array_equal(call(X, c=c), np.copysign(X, c[0]))


def test_a_default_that_is_minus_zero():
    def with_default(x, c=-0.0):
        return np.copysign(x, np.float32(c))

    assert numba_function(numba.njit(with_default), like)(X)[0] == -1
    assert numba_function(returned_sign, like)(X)[0] == 1


def test_types_are_told_apart_as_before():
    call = numba_kernel(half, like, static_argnames="c")
    assert [float(call(X, c=c)[0]) for c in (1, 1.0, 3, 3.0, np.float32(5))] == [0, 0.5, 1, 1.5, 2.5]


def test_the_methods_of_a_jitted_function_take_static_values():
    lowered = [sign_kernel.lower(X, c=c).compile() for c in (0.0, -0.0)]
    np.testing.assert_array_equal([f(X) for f in lowered], [X, -X])
    assert sign_kernel.eval_shape(X, c=-0.0).shape == (3,)


def test_static_values_that_are_not_hashable_are_refused_as_by_jax():
    with pytest.raises(ValueError, match="static"):
        sign_kernel(X, c=[0.0])


def test_an_operator_builds_for_each():
    built = []

    def build(*, outs, scale):
        built.append(scale)
        return lambda x: jnp.copysign(x, scale)

    operator = XLACustomKernel("sign_by_static_value")
    operator.def_reference(build)
    for scale in (0.0, -0.0, 0.0, -0.0):
        found = operator(X, outs=jax.ShapeDtypeStruct((3,), "float32"), scale=scale)
        np.testing.assert_array_equal(found, np.copysign(X, scale))
    struct_of = jax.ShapeDtypeStruct((3,), "float32")
    program = jax.jit(lambda x: [operator(x, outs=struct_of, scale=(s, 1)[0]) for s in (-0.0, 0.0)])
    np.testing.assert_array_equal(program(X), [-X, X])
    assert len(built) >= 2


class Mode(enum.Enum):
    ON, OFF = 0, 1


class OtherMode(enum.Enum):
    ON = 0


@dataclass(frozen=True)
class Parameters:
    gain: float


DIFFERENT = [
    (0.0, -0.0),
    (0, 0.0),
    (1, True),
    (1.0, np.float32(1)),
    (np.float32(0), np.float32(-0.0)),
    (float("nan"), OTHER_NAN),
    (complex(0, 0), complex(0, -0.0)),
    ((0.0, 1), (-0.0, 1)),
    ((1,), (True,)),
    ((1,), [1]),
    ({"a": 0.0}, {"a": -0.0}),
    (frozenset([0.0]), frozenset([-0.0])),
    (Parameters(0.0), Parameters(-0.0)),
    (Mode.ON, Mode.OFF),
    (Mode.ON, OtherMode.ON),
    (np.zeros(2), np.zeros((2, 1))),
    ("1", 1),
    (None, False),
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=repr)
def test_contents_differ(a, b):
    assert exact_key(a) != exact_key(b)
    assert exact_key(a) == exact_key(a)
    assert Constants([("c", a)]) != Constants([("c", b)])
    if not isinstance(a, (list, dict, np.ndarray)) and not isinstance(b, list):
        assert Exact(a) != Exact(b)
        assert hash(Exact(a)) == hash(Exact(a))


def test_fingerprints_differ_by_all_bits():
    for a, b in DIFFERENT[:11]:
        assert fingerprint(a).digest != fingerprint(b).digest


def test_constants_of_warp_kernels():
    wp = pytest.importorskip("warp", reason="Warp is not installed")
    from_warp = pytest.importorskip("warp_static", reason="the kernels beside this test")
    del wp
    for c in (0.0, -0.0, 0.0):
        np.testing.assert_array_equal(from_warp.inverse(X, c), np.full(3, np.copysign(np.inf, c)))


@pytest.mark.usefixtures("gpu")
def test_constants_of_cuda_kernels():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    kernels = pytest.importorskip("cuda_static", reason="the kernels beside this test")
    for c in (0.0, -0.0, 0.0, -0.0):
        np.testing.assert_array_equal(kernels.signs(X, c=c), np.copysign(X, c))
