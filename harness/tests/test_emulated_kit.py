"""`pytest --emulate-gpu` finds what is wrong with CUDA kernels: of operators, and of tests of one's own."""

import json
from textwrap import dedent

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")

from other_pytest import run_pytest


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Operator and property -> the outcome of its cell."""
    folder = tmp_path_factory.mktemp("operators")
    file, properties = folder / "cells.json", ("--properties", "values,vmap")
    operators = ("--operators", "broken_cuda_operators")
    done = run_pytest(folder, "--emulate-gpu", *operators, *properties, "--cells-json", str(file))
    assert done.returncode == 1, done.stdout + done.stderr
    cells = json.loads(file.read_text())
    assert {cell["backend"] for cell in cells} == {"numba_cuda"}
    return {(cell["operator"], cell["property"]): cell for cell in cells}


@pytest.mark.slow
def test_a_right_kernel_passes(outcomes):
    assert outcomes["adds_up", "values"]["status"] == "passed", outcomes["adds_up", "values"]["reason"]
    assert outcomes["adds_up", "vmap"]["status"] == "passed", outcomes["adds_up", "vmap"]["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ("reads_beyond", "reads 4 bytes out of bounds"),
        ("adds_without_atomics", "race"),
        ("forgets_to_clear", "nobody has written them"),
        ("drops_the_last", "Mismatch"),
    ],
)
def test_a_broken_kernel_fails_with_the_reason_and_the_command_that_repeats_it(outcomes, operator, said):
    cell = outcomes[operator, "values"]
    assert cell["status"] == "failed" and said in cell["reason"]
    again = (
        f"pytest --emulate-gpu --operators broken_cuda_operators --cell {operator}-numba_cuda-some-float32"
    )
    assert again in cell["reason"]


TESTS = """
    import jax
    import jax.numpy as jnp
    from numba import cuda

    from ffi_bridge import numba_cuda_kernel

    OUT = jax.ShapeDtypeStruct((64,), "float32")


    @cuda.jit
    def reverse(x, y):
        t = cuda.threadIdx.x
        shared = cuda.shared.array(64, "float32")
        shared[t] = x[t]
        if BARRIER:
            cuda.syncthreads()
        y[t] = shared[63 - t]


    def test_reverse():
        x = jnp.arange(64, dtype="float32")
        assert (numba_cuda_kernel(reverse, OUT, grid=1, block=64)(x) == x[::-1]).all()
"""


@pytest.mark.slow_cases("True")
@pytest.mark.parametrize("barrier", [True, False])
def test_tests_that_know_nothing_of_it(tmp_path, barrier):
    (tmp_path / "test_reverse.py").write_text(dedent(TESTS).replace("BARRIER", str(barrier)))
    done = run_pytest(tmp_path, "--emulate-gpu", "-v", "--gpu-seed", "7")
    assert done.returncode == int(not barrier), done.stdout + done.stderr
    assert "emulated GPU: bounds, races" in done.stdout and "--gpu-seed 7" in done.stdout
    assert barrier or "shared memory" in done.stdout
