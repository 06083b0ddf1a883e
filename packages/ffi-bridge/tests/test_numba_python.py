"""With NUMBA_DISABLE_JIT=1 a kernel is called as a function of Python, wherever its call stands."""

import json
from pathlib import Path

import child_python
import pytest

PROGRAM = Path(__file__).with_name("in_python.py")


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("numba", reason="Numba is not installed")
    return json.loads(child_python.output(PROGRAM, NUMBA_DISABLE_JIT="1"))


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("eager", [[0, 2, 4], 6]),
        ("jit", [[0, 2, 4], 6]),
        ("scan", [[0, 8, 16]]),
        ("nested vmap", [[[[x + 3 * b + s for x in range(3)] for b in range(2)] for s in range(4)]]),
        ("sequential", [[[1, 2, 3], [4, 5, 6]]]),
        ("in place", [[2, 3, 4]]),
        ("nothing", [[]]),
        ("options", [[1, 7, 13]]),
        ("returned", [[[2, 1, 0], [5, 4, 3]], [3, 3]]),
        ("goes on", [[0, 1, 2]]),
        ("ordered", [0, 1, 2, 3]),
    ],
)
def test_it_gives_what_machine_code_gives(found, way, expected):
    assert found[way] == expected


def test_it_is_python(found):
    assert found["seen"] == ["ndarray"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("raises", "kernel 'raises' raised ValueError: ('x must not be negative', -1)"),
        ("writes input", "kernel 'writes_input' raised ValueError: assignment destination is read-only"),
        ("float8", "KernelTypeError: kernel 'raises': argument 'x' has dtype float8_e4m3fn"),
        ("number of inputs", "kernel 'raises' takes 2 arguments (x, y), but the call has 2 inputs"),
        ("other size", "result 1 is int64 with 0 dimensions; expected float32 with 1"),
        ("no function", "TypeError: numba_kernel needs a Numba CPU kernel, got 3"),
    ],
)
def test_errors_are_those_of_machine_code(found, name, text):
    assert text in found[name]
