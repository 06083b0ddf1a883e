"""Kernels as other people write them are right in every order of threads and blocks, or refused by name."""

import foreign_cuda
import pytest
from compile_kernels import ALL_CHECKS, of_cuda

from ptx_on_cpu import UnsupportedError

HOW = [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"parallel": True}]
SCANS = {case.kernel: case for case in [*foreign_cuda.reductions(), *foreign_cuda.scans()]}
CLASSICS = {
    case.kernel: case
    for cases in (
        foreign_cuda.tiles,
        foreign_cuda.sorts,
        foreign_cuda.locks,
        foreign_cuda.control,
        foreign_cuda.memory,
    )
    for case in cases()
}


@pytest.mark.parametrize("name", [*SCANS, *CLASSICS])
def test_kernels_of_cuda_give_what_numpy_gives(name):
    file = foreign_cuda.SCANS if name in SCANS else foreign_cuda.CLASSICS
    kernel = of_cuda(file).kernel(name, ALL_CHECKS)
    for how in HOW:
        (SCANS | CLASSICS)[name].check(kernel, list, **how)


@pytest.mark.parametrize("name", foreign_cuda.REFUSED)
def test_what_cannot_run_is_refused_by_name(name):
    with pytest.raises(UnsupportedError) as caught:
        of_cuda(foreign_cuda.CLASSICS).kernel(name)
    assert foreign_cuda.REFUSED[name] in str(caught.value)
