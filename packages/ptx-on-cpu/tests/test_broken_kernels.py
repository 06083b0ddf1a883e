"""Broken kernels are caught, with thread, block, line and memory; without the mistake they are not."""

import functools

import numpy as np
import pytest
from broken_kernels import (
    FILE,
    Broken,
    floats,
    grid_waits,
    memory,
    parameters,
    races,
    waiting,
    with_guard,
    without_guard,
)
from compile_kernels import ALL_CHECKS, line_of, numba_parameters, of_cuda, of_numba

from ptx_on_cpu import Checks, Kernel, LaunchError
from ptx_on_cpu.buffers import NUMBERINGS

PATIENCE = 1 << 16  # turns of a loop: an endless one is called so soon


@functools.cache
def compiled(name: str, wrong: int, checks: Checks = ALL_CHECKS) -> Kernel:
    return of_cuda(FILE, f"-DWRONG={wrong}").kernel(name, checks)


def launch(kernel: Kernel, broken: Broken, seed: int | None = None) -> None:
    known = kernel.buffers()
    given = parameters(broken, known)
    kernel.launch(
        broken.grid, broken.block, given, shared=broken.shared, buffers=known, patience=PATIENCE, seed=seed
    )


def check_message(message: str, name: str, broken: Broken) -> None:
    line = line_of(FILE, f" {broken.function or name}(", "// here")
    for piece in (f"kernel '{name}'", "block (", f"{line}: `", *broken.says):
        assert piece in message


@pytest.mark.parametrize("name", memory() | waiting())
def test_a_mistake_is_caught_where_it_is(name):
    broken = (memory() | waiting())[name]
    with pytest.raises(LaunchError) as caught:
        launch(compiled(name, wrong=1), broken)
    check_message(str(caught.value), name, broken)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", memory() | waiting() | races())
def test_the_kernel_without_the_mistake_is_not_flagged(name, seed):
    launch(compiled(name, wrong=0), (memory() | waiting() | races())[name], seed)


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("name", races())
def test_a_race_is_caught_in_any_order_of_threads(name, seed):
    with pytest.raises(LaunchError, match="race") as caught:
        launch(compiled(name, wrong=1, checks=Checks(races=True)), races()[name], seed)
    check_message(str(caught.value), name, races()[name])


@pytest.mark.parametrize("wrong", [0, 1])
def test_memory_of_an_earlier_launch_cannot_be_used(wrong):
    module = of_cuda(FILE, f"-DWRONG={wrong}")
    old, new, y = floats(), floats(), floats()
    keep, kernel = module.kernel("keep"), module.kernel("use_what_was_kept", ALL_CHECKS)
    for _ in range(NUMBERINGS):  # of 3 launches if wrong, so that the first has any of the numbers
        keep.launch((1,), (1,), [old])
        if not wrong:
            kernel.launch((1,), (1,), [y, new])
            continue
        with pytest.raises(
            LaunchError,
            match=r"thread \(0, 0, 0\) of block \(0, 0, 0\) reads 4 bytes by a pointer that an earlier",
        ) as caught:
            kernel.launch((1,), (1,), [y, new])
        assert line_of(FILE, " use_what_was_kept(", "// here") in str(caught.value)
        keep.launch((1,), (1,), [old])


def test_a_missing_guard_in_python_is_caught_in_its_line():
    arguments = np.ones(1000, "f"), np.zeros(1000, "f")
    of_numba(with_guard, arguments).launch((4,), (256,), list(numba_parameters(arguments)))
    with pytest.raises(LaunchError) as caught:
        of_numba(without_guard, arguments, has_lines=True).launch(
            (4,), (256,), list(numba_parameters(arguments))
        )
    line = line_of("broken_kernels.py", "def without_guard", "# here")
    for piece in ("without_guard", "thread (232, 0, 0) of block (3, 0, 0) reads", "4000", f"{line}: `"):
        assert piece in str(caught.value)


def test_more_blocks_than_can_wait_for_each_other_are_refused():
    arguments = np.zeros(2000, "f"), np.zeros(2000, "f")
    kernel = of_numba(grid_waits, arguments)
    kernel.launch((8,), (1,), list(numba_parameters(arguments)))
    np.testing.assert_array_equal(arguments[1][:9], [*range(1, 8), 0, 0])
    with pytest.raises(LaunchError, match="wait for each other, and there are more than can run at once"):
        kernel.launch((2000,), (1,), list(numba_parameters(arguments)))
