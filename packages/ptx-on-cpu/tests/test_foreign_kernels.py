"""Kernels as other people write them are right in every order of threads and blocks, or refused by name."""

from collections.abc import Callable

import foreign_arithmetic
import foreign_cuda
import foreign_lanes
import foreign_math
import foreign_numba
import pytest
from compile_kernels import ALL_CHECKS, numba_parameters, of_cuda, of_numba
from foreign_kernels import Case, Numbers

from ptx_on_cpu import UnsupportedError

HOW = [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"parallel": True}]


def _by_name(*makers: Callable[[], list[Case]]) -> dict[str, Case]:
    Numbers.begin_anew()
    return {case.kernel: case for make in makers for case in make()}


FILES = {
    foreign_cuda.SCANS: _by_name(foreign_cuda.reductions, foreign_cuda.scans),
    foreign_cuda.CLASSICS: _by_name(foreign_cuda.tiles, foreign_cuda.sorts, foreign_cuda.locks),
    foreign_cuda.CONTROL: _by_name(foreign_cuda.control, foreign_cuda.memory),
}
NUMBA = foreign_lanes.CASES | foreign_numba.CASES | foreign_arithmetic.CASES


@pytest.fixture(autouse=True)
def _same_numbers():
    Numbers.begin_anew()


@pytest.mark.parametrize(("file", "name"), [(file, name) for file in FILES for name in FILES[file]])
def test_kernels_of_cuda_give_what_numpy_gives(file, name):
    kernel = of_cuda(file).kernel(name, ALL_CHECKS)
    for how in HOW:
        FILES[file][name].check(kernel, list, **how)


@pytest.mark.parametrize("name", foreign_cuda.REFUSED)
def test_what_cannot_run_is_refused_by_name(name):
    with pytest.raises(UnsupportedError) as caught:
        of_cuda(foreign_cuda.CONTROL).kernel(name)
    assert foreign_cuda.REFUSED[name] in str(caught.value)


# Every third is quick: numba-cuda takes half a second for each.
@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, x in enumerate(NUMBA)]
)
def test_kernels_of_numba_give_what_numpy_gives(name):
    case = NUMBA[name]()
    kernel = of_numba(case.kernel, case.arguments)
    for how in HOW:
        case.check(kernel, numba_parameters, **how)


def test_threads_print_as_printf_does(capsys):
    case = foreign_numba.printing()
    printed = case.check(of_numba(case.kernel, case.arguments), numba_parameters)
    assert printed == "thread 0 1.500000\nthread 2 -3.250000\n" == capsys.readouterr().out


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("group", foreign_math.GROUPS)
def test_functions_of_libdevice_are_as_exact_as_documented(group, kind):
    functions = foreign_math.GROUPS[group]
    arguments = functions.arguments(kind)
    kernel = of_numba(functions.kernel, arguments)
    kernel.launch((4,), (32,), list(numba_parameters(arguments)))
    functions.check(*arguments)


def test_a_function_that_another_module_has_is_refused_by_name():
    case = foreign_arithmetic.half_sums()
    with pytest.raises(UnsupportedError, match=r"half.*, which is in no module; link it"):
        of_numba(case.kernel, case.arguments)
