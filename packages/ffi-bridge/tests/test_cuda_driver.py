"""The driver of a machine, over a library that stands in for libcuda: it asks device by device."""

from types import SimpleNamespace

import pytest

from ffi_bridge.cuda.cubin import Cubin
from ffi_bridge.cuda.driver import CudaDriver
from ffi_bridge.errors import BackendUnavailableError

KERNEL, FUNCTION, DEVICES = 0xC0DE, 0xF00D, {7: 132, 9: 114}  # device -> multiprocessors
BLOCKS = {7: 2, 9: 3}  # on a multiprocessor
CUBIN = Cubin(b"code", "entry", None, ())


class Library(SimpleNamespace):
    """Functions by name."""

    __hash__ = object.__hash__


@pytest.fixture
def calls():
    return []


@pytest.fixture
def library(calls):
    """Functions of libcuda that note their calls; contexts have the numbers of their devices."""
    current = []

    def write(name, value):
        def function(result, *rest):
            calls.append((name, *(getattr(x, "value", x) for x in rest)))
            result._obj.value = value(*rest)
            return 0

        return function

    def push(context):
        current.append(context.value)
        return 0

    def pop(_):
        current.pop()
        return 0

    def blocks(*_):
        return BLOCKS[current[-1]]

    return Library(
        cuLibraryLoadData=write("load", lambda *_: 1),
        cuLibraryGetKernel=write("kernel", lambda *_: KERNEL),
        cuKernelGetFunction=write("function", lambda *_: FUNCTION),
        cuDevicePrimaryCtxRetain=write("retain", lambda device: device),
        cuCtxPushCurrent_v2=push,
        cuCtxPopCurrent_v2=pop,
        cuDeviceGetAttribute=write("attribute", lambda attribute, device: DEVICES[device]),
        cuOccupancyMaxActiveBlocksPerMultiprocessor=write("occupancy", blocks),
        current=current,
    )


def test_blocks_of_a_cooperative_launch_are_those_of_the_smallest_gpu(library, calls):
    driver = CudaDriver(library, tuple(DEVICES))
    assert driver.max_cooperative_grid_blocks(CUBIN, 256, 1024) == 2 * 132
    assert [call for call in calls if call[0] == "occupancy"] == [("occupancy", FUNCTION, 256, 1024)] * 2
    assert [call[0] for call in calls].count("load") == 1
    assert driver.load(CUBIN, 1024) == KERNEL and library.current == []
    assert driver.multiprocessors == 114


def test_a_context_is_left_where_the_driver_fails(library):
    library.cuOccupancyMaxActiveBlocksPerMultiprocessor = lambda *_: 1
    library.cuGetErrorName = lambda status, name: 0
    with pytest.raises(BackendUnavailableError, match="cuOccupancyMaxActiveBlocksPerMultiprocessor failed"):
        CudaDriver(library, tuple(DEVICES)).max_cooperative_grid_blocks(CUBIN, 256, 0)
    assert library.current == []
