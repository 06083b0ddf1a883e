"""What is no array of numbers is refused with its name and a remedy, in every kernel."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_function, numba_kernel
from ffi_bridge.errors import KernelTypeError


@numba.njit
def scale(x, y):
    y[:] = 2 * x


@numba.njit
def total(x):
    return x.sum()


RECORDS = np.zeros(4, [("a", "f4"), ("b", "i4")])
call = numba_kernel(scale, lambda x: x)
KINDS = {
    "records": (RECORDS, r"an array of records, .*pass each field as an input, x\['a'\], x\['b'\]"),
    "recarray": (RECORDS.view(np.recarray), "an array of records"),
    "record": (RECORDS[0], "records|has dtype"),
    "text": ("abc", "the text 'abc'.*static_argnames|is a str"),
    "bytes": (b"abc", "the text b'abc'"),
    "texts": (np.array(["a", "b"]), "an array of <U1; .*np.unique"),
    "byte strings": (np.array([b"a"]), "an array of .*uint8"),
    "objects": (np.array([None, 1]), "an array of object; .*objects of Python"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), r"an array of datetime64\[D\]; .*int64"),
    "durations": (np.array([1], "m8[s]"), r"an array of timedelta64\[s\]"),
    "big-endian": (np.zeros(4, ">f4"), r"another machine: x.astype\('float32'\)"),
    "set": ({1}, "a set; expected an array or a number"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_named_with_the_remedy(kind):
    x, said = KINDS[kind]
    with pytest.raises(KernelTypeError, match=rf"kernel 'scale'.*({said})"):
        call(x)


def test_bytes_of_another_machine_are_named_where_jax_takes_them():
    np.testing.assert_array_equal(call(np.ones(4, "f4")), np.full(4, 2))
    for args, named in (((np.ones(4, ">f4"),), {}), ((), {"x": np.ones(4, ">f4")})):
        with pytest.raises(KernelTypeError, match=r"'x' is .* of another machine: x.astype\('float32'\)"):
            call(*args, **named)


@pytest.mark.parametrize("x", [RECORDS, "abc"])
def test_of_functions_and_ufuncs_too(x):
    for wrapped in (
        numba_function(total, jax.ShapeDtypeStruct((), "float32")),
        numba_function(numba.vectorize(["float32(float32)"])(abs_of)),
    ):
        with pytest.raises(KernelTypeError, match=r"input 'x' is (an array of records|the text)"):
            wrapped(x)


def abs_of(x):
    return abs(x)


def test_other_errors_stay_as_they_are():
    def outs(x):
        raise TypeError("of the user")

    with pytest.raises(Exception, match="of the user"):
        numba_kernel(scale, outs)(jnp.ones(3))
    assert call.lower(jnp.ones(3)).as_text()
