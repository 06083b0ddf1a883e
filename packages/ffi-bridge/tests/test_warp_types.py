"""jaxtype_to_warptype and jaxinfo_to_warpinfo, against what Warp itself says of arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.errors import KernelTypeError

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
bridge = pytest.importorskip("ffi_bridge.warp.parameters", reason="warp-lang is not installed")
array_value = pytest.importorskip("ffi_bridge.warp.parameters").array_value

DTYPES = [
    "bool",
    *[f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)],
    *["float16", "float32", "float64"],
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_type_agrees_with_warps_own_conversion_to_numpy(dtype: str) -> None:
    warp_type = bridge.jaxtype_to_warptype(dtype)
    assert np.dtype(wp.dtype_to_numpy(warp_type)) == np.dtype(dtype)


def test_forms_of_a_dtype() -> None:
    forms = [jnp.float32, np.float32, "float32", np.dtype("f4"), jnp.zeros(1, "float32").dtype]
    assert {bridge.jaxtype_to_warptype(form) for form in forms} == {wp.float32}


@pytest.mark.skipif(not hasattr(wp, "bfloat16"), reason="this Warp has no bfloat16")
def test_bfloat16() -> None:
    assert bridge.jaxtype_to_warptype(jnp.bfloat16) is wp.bfloat16


@pytest.mark.parametrize("dtype", ["complex64", "float8_e4m3fn", "no such thing"])
def test_a_dtype_that_warp_lacks_is_refused_by_name(dtype: str) -> None:
    with pytest.raises(KernelTypeError, match=rf"{dtype}.*float32"):
        bridge.jaxtype_to_warptype(dtype)


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_array_annotation(ndim: int) -> None:
    info = bridge.jaxinfo_to_warpinfo(jax.ShapeDtypeStruct((2,) * ndim, jnp.int16))
    assert (info.dtype, info.ndim) == (wp.int16, ndim)


@pytest.mark.parametrize(("shape", "hint"), [((), r"\(1,\)"), ((1,) * 5, "1 to 4 dimensions")])
def test_ranks_that_warp_lacks_are_refused(shape: tuple[int, ...], hint: str) -> None:
    with pytest.raises(KernelTypeError, match=hint):
        bridge.jaxinfo_to_warpinfo(jax.ShapeDtypeStruct(shape, jnp.float32))


def test_what_has_no_shape_is_refused() -> None:
    with pytest.raises(KernelTypeError, match="ShapeDtypeStruct"):
        bridge.jaxinfo_to_warpinfo("float32")


def test_axes_that_warp_steps_along_by_more_than_32_bits_are_refused():
    matrix = wp.array(dtype=wp.float32, ndim=2)
    assert list(array_value(matrix, (2, 2**29 - 1)).strides[:2]) == [2**31 - 4, 4]
    assert list(array_value(matrix, (1, 2**30)).shape[:2]) == [1, 2**30]
    with pytest.raises(KernelTypeError, match="2147483648 bytes from one element of an axis to the next"):
        array_value(matrix, (2, 2**29))
    with pytest.raises(KernelTypeError, match="an axis beyond 2147483647 elements"):
        array_value(matrix, (1, 2**31))
