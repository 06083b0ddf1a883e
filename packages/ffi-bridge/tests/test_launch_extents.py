"""Grids and blocks from what a user gives."""

import pytest

from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.errors import KernelDefinitionError


def extents(grid=None, block=None, launch_dims=None, threads_per_block=256, shared_mem=0, cooperative=False):
    return LaunchExtents.of(grid, block, launch_dims, threads_per_block, shared_mem, cooperative)


@pytest.mark.parametrize(
    ("given", "grid", "block"),
    [
        ({"grid": 4, "block": 256}, (4, 1, 1), (256, 1, 1)),
        ({"grid": (2, 3), "block": [8, 4]}, (2, 3, 1), (8, 4, 1)),
        ({"grid": (2, 3, 4), "block": (4, 4, 4)}, (2, 3, 4), (4, 4, 4)),
        ({"launch_dims": 1000}, (4, 1, 1), (256, 1, 1)),
        ({"launch_dims": 1000, "threads_per_block": 128}, (8, 1, 1), (128, 1, 1)),
        ({"launch_dims": 10}, (1, 1, 1), (10, 1, 1)),
        ({"launch_dims": (64, 100)}, (4, 7, 1), (16, 16, 1)),
        ({"launch_dims": (5, 100)}, (1, 7, 1), (5, 16, 1)),
        ({"launch_dims": (20, 9, 2)}, (3, 2, 1), (8, 8, 2)),
        ({"launch_dims": 0}, (0, 1, 1), (1, 1, 1)),
        ({"launch_dims": (3, 0)}, (1, 0, 1), (3, 1, 1)),
        ({"grid": 0, "block": 32}, (0, 1, 1), (32, 1, 1)),
    ],
)
def test_extents(given, grid, block):
    found = extents(**given)
    assert (found.grid, found.block) == (grid, block)


@pytest.mark.parametrize(
    ("given", "most", "grid"),
    [
        ({"block": 256}, 24, (24, 1, 1)),
        ({"block": (8, 8, 2)}, 7, (7, 1, 1)),
        ({"grid": (2, 3), "block": 64}, 6, (2, 3, 1)),
        ({"launch_dims": 1000}, 4, (4, 1, 1)),
        ({"grid": 0, "block": 64}, 4, (0, 1, 1)),
    ],
)
def test_blocks_of_a_cooperative_launch(given, most, grid):
    assert extents(**given, cooperative=True).resident("f", most).grid == grid


@pytest.mark.parametrize(
    ("given", "most", "message"),
    [
        (
            {"grid": (2, 3), "block": 64},
            5,
            r"'f': a cooperative launch of 6 blocks, grid \(2, 3, 1\).*and 5 do",
        ),
        ({"launch_dims": 1000}, 3, "a cooperative launch of 4 blocks"),
        ({"block": 64, "shared_mem": 9}, 0, r"not one block.*\(64, 1, 1\) threads and 9 bytes of dynamic"),
    ],
)
def test_more_blocks_than_run_at_once_are_refused(given, most, message):
    with pytest.raises(KernelDefinitionError, match=message):
        extents(**given, cooperative=True).resident("f", most)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either grid and block, or launch_dims"),
        ({"grid": 4}, "either grid and block, or launch_dims"),
        ({"block": 4}, "either grid and block, or launch_dims"),
        ({"grid": 4, "block": 4, "launch_dims": 16}, "either grid and block, or launch_dims"),
        ({"grid": 4, "launch_dims": 16}, "either grid and block, or launch_dims"),
        ({"launch_dims": (1, 2, 3, 4)}, "launch_dims=.*one to three integers >= 0"),
        ({"launch_dims": ()}, "launch_dims=.*one to three integers"),
        ({"launch_dims": -1}, "launch_dims=-1; expected one to three integers >= 0"),
        ({"launch_dims": 2.5}, "launch_dims=2.5"),
        ({"grid": 1, "block": 0}, "block=0; expected one to three integers >= 1"),
        ({"grid": 1, "block": 1025}, "a block of .*1024 together"),
        ({"grid": 1, "block": (32, 33)}, "a block of .*1024 together"),
        ({"grid": 1, "block": (1, 1, 65)}, "a block of "),
        ({"grid": (1, 65536), "block": 1}, "a grid of "),
        ({"block": 4, "launch_dims": 4, "cooperative": True}, "either grid and block, or launch_dims"),
        ({"cooperative": True}, "either grid and block, or launch_dims"),
        ({"launch_dims": True}, "launch_dims=True"),
        ({"grid": True, "block": 1}, "grid=True"),
        ({"grid": 1, "block": (32, True)}, "block="),
        ({"grid": "4", "block": 1}, "grid='4'"),
        ({"grid": 1, "block": 2.0}, "block=2.0"),
        ({"launch_dims": 5, "threads_per_block": 0}, "threads_per_block=0"),
        ({"launch_dims": 5, "threads_per_block": (32, 8)}, "threads_per_block=.*a number of threads >= 1"),
        ({"launch_dims": 5, "threads_per_block": True}, "threads_per_block=True"),
        ({"launch_dims": 5, "shared_mem": True}, "shared_mem=True"),
        ({"launch_dims": 5, "shared_mem": (4,)}, "shared_mem="),
        ({"launch_dims": 5, "shared_mem": -4}, "shared_mem=-4"),
        ({"launch_dims": 5, "shared_mem": 1.5}, "shared_mem=1.5; expected a number of bytes"),
        ({"launch_dims": 5, "shared_mem": None}, "shared_mem=None"),
    ],
)
def test_what_no_gpu_can_launch_is_refused(given, message):
    with pytest.raises(KernelDefinitionError, match=message):
        extents(**given)
