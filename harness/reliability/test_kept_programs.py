"""JAX's own cache on disk holds programs with native kernels: other processes call them, never old ones."""

import json

import pytest
from child_processes import succeed

from event_ops.discover import operators

pytestmark = pytest.mark.promise(9)

NAMES = [operator.name for operator in operators()]


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("numba", reason="the kernels are Numba's")
    environment = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def run(factor, *names, kernels="kernels"):
        folders = environment | {"FFI_BRIDGE_CACHE_DIR": str(tmp_path / kernels)}
        return json.loads(succeed("kept_programs.py", factor, *names, limit=900, **folders))

    return run


@pytest.mark.parametrize(
    "names", [("csr_matvec", "lif_step"), pytest.param(NAMES, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_a_second_process_calls_the_kept_program(run, names, record_property):
    record_property("tried", len(names))
    first, second = run(2, *names), run(2, *names)
    assert first["hits"] == 0 and second["hits"] > len(names)
    assert first["results"] == second["results"]
    assert first["results"][0] == [1, 3, 5, 7]


@pytest.mark.slow
def test_it_does_so_where_the_kernels_were_not_kept(run):
    first, second = run(2), run(2, kernels="elsewhere")
    assert second["hits"] and first["results"] == second["results"]


def test_a_changed_kernel_is_another_program(run):
    assert run(2)["results"] == [[1, 3, 5, 7]]
    assert run(3)["results"] == [[1, 4, 7, 10]]
