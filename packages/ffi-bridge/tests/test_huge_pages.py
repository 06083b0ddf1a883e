"""Large outputs are asked for in huge pages; small ones, and inputs, are left as they are."""

import mmap
from pathlib import Path

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from frames import Call

from ffi_bridge import numba_kernel
from ffi_bridge.handler.guards import MIN_BYTES
from ffi_bridge.targets import targets

pytestmark = pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(),
    reason="a system without huge pages",
)


@numba.njit
def paged_copy(x, y):
    y[:] = x


@pytest.fixture(scope="module")
def address():
    copy = numba_kernel(paged_copy, jax.ShapeDtypeStruct((4,), jnp.uint8))
    copy(jnp.ones(4, jnp.uint8))
    (found,) = [t for name, t in targets().items() if name.startswith("paged_copy.numba_cpu.")]
    return found.address


def fresh(size):
    """A mapping of its own, so that the advice for it shows by itself."""
    return np.frombuffer(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)


def is_huge(array):
    """Whether the mapping that holds an array has the flag `hg`: huge pages advised."""
    place, inside = array.ctypes.data, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split()[0]
        if "-" in head and not head.endswith(":"):
            low, high = (int(bound, 16) for bound in head.split("-"))
            inside = low <= place < high
        elif inside and head == "VmFlags:":
            return "hg" in line.split()
    raise AssertionError(f"no mapping holds {place:#x}")


@pytest.mark.parametrize(("size", "expected"), [(MIN_BYTES, True), (MIN_BYTES // 2, False)])
def test_only_large_outputs_are_advised(address, size, expected):
    x, y = fresh(size), fresh(size + 64)[64:]  # as XLA aligns: to a cache line, not to a page
    x[:] = 7
    assert Call([x], [y]).run(address) is None
    assert (y == 7).all()
    assert is_huge(y) is expected
    assert is_huge(x) is False
