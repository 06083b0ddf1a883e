"""Copy and fill arrays of Warp by kernels, as launches in a recorded sequence."""

# pyright: reportInvalidTypeForm=false, reportAssignmentType=false, reportGeneralTypeIssues=false

from collections.abc import Callable
from typing import Any

import warp as wp

from ffi_bridge.errors import KernelTypeError


@wp.kernel(enable_backward=False)
def copied(source: wp.array(dtype=Any), target: wp.array(dtype=Any)):
    """Target = source."""
    i = wp.tid()
    target[i] = source[i]


@wp.kernel(enable_backward=False)
def copied_4d(source: wp.array4d(dtype=Any), target: wp.array4d(dtype=Any)):
    """Target = source, of any strides."""
    i, j, k, m = wp.tid()
    target[i, j, k, m] = source[i, j, k, m]


@wp.kernel(enable_backward=False)
def filled(value: Any, target: wp.array(dtype=Any)):
    """Every element of target = value."""
    i = wp.tid()
    target[i] = value


@wp.kernel(enable_backward=False)
def filled_4d(value: Any, target: wp.array4d(dtype=Any)):
    """Every element of target, of any strides, = value."""
    i, j, k, m = wp.tid()
    target[i, j, k, m] = value


def fill(launch: Callable[..., None], array: Any, value: Any) -> None:
    """Do the work of `array.fill_(value)` by a launch."""
    is_struct = wp.types.type_is_struct(array.dtype)
    # `zero_` gives 0, also for an array of structs.
    element = (value or array.dtype()) if is_struct else array.dtype(value)
    if array.is_contiguous:
        launch(filled, array.size, [element], [_line(array)])
    else:
        launch(filled_4d, _in_4d(array).shape, [element], [_in_4d(array)])


def copy(
    launch: Callable[..., None],
    dest: Any,
    src: Any,
    dest_offset: int = 0,
    src_offset: int = 0,
    count: int = 0,
    stream: Any = None,
) -> None:
    """Do the work of `wp.copy` by a launch; raise KernelTypeError for a copy that no launch can do."""
    count = count or src.size
    is_part = dest_offset or src_offset or count != src.size
    if stream is not None or dest.dtype != src.dtype:
        raise KernelTypeError(
            f"wp.copy of an array of {src.dtype} to one of {dest.dtype}, stream={stream}, cannot be "
            "recorded; copy between arrays of one dtype, and on no stream"
        )
    if dest.is_contiguous and src.is_contiguous:
        source, target = (
            _line(array, offset, count) for array, offset in ((src, src_offset), (dest, dest_offset))
        )
        launch(copied, count, [source], [target])
    elif dest.shape == src.shape and not is_part:
        launch(copied_4d, _in_4d(src).shape, [_in_4d(src)], [_in_4d(dest)])
    else:
        raise KernelTypeError(
            f"wp.copy of {count} elements of an array of shape {src.shape} to one of shape {dest.shape}, "
            "one of them not contiguous, cannot be recorded; copy slices of one shape"
        )


def _line(array: Any, offset: int = 0, count: int | None = None) -> Any:
    """Return `count` elements of a contiguous array, or all, as one axis; raise KernelTypeError for more."""
    size: int = array.size if count is None else count
    if min(offset, size) < 0 or offset + size > array.size:
        raise KernelTypeError(
            f"wp.copy of {size} elements from number {offset} on, of an array that has {array.size}; give a "
            "count and offsets that fit"
        )
    place = array.ptr + offset * wp.types.type_size_in_bytes(array.dtype) if array.size else array.ptr
    return wp.array(ptr=place, dtype=array.dtype, shape=(size,), device=array.device)


def _in_4d(array: Any) -> Any:
    """Return the array with axes of extent 1 in front, four axes in all."""
    lacks = 4 - array.ndim
    return wp.array(
        ptr=array.ptr,
        dtype=array.dtype,
        shape=(*[1] * lacks, *array.shape),
        # Along an axis of extent 1 any stride will do.
        strides=(*[array.strides[0]] * lacks, *array.strides),
        device=array.device,
    )
