"""Kernels beside Python callbacks of every kind, and in spawned processes: no program hangs."""

import pytest
from child_processes import succeed

pytestmark = pytest.mark.promise(3)
# Of a program in three steps: two programs alone, and, where callbacks are not ordered, four threads of them.
CALLS = {
    "pure_callback": 50 * (2 + 4),
    "io_callback": 50 * (2 + 4),
    "ordered_io_callback": 50 * 2,
    "debug_callback": 50 * (2 + 4),
}
QUICK = ("pure_callback", "ordered_io_callback")


@pytest.mark.parametrize(
    ("layer", "dispatch"),
    [
        ("omp", "1"),
        pytest.param("workqueue", "1", marks=pytest.mark.slow),
        pytest.param("omp", "0", marks=pytest.mark.slow),
        pytest.param("tbb", "1", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "kind", [x if x in QUICK else pytest.param(x, marks=pytest.mark.slow) for x in CALLS]
)
def test_callbacks_in_the_same_program(kind, layer, dispatch, record_property):
    env = {
        "NUMBA_THREADING_LAYER": layer,
        "JAX_CPU_ENABLE_ASYNC_DISPATCH": dispatch,
        "NUMBA_NUM_THREADS": "4",
    }
    seen = succeed("callbacks_in_child.py", kind, limit=120, **env)
    record_property("tried", CALLS[kind])
    assert int(seen) == 3 * CALLS[kind]


@pytest.mark.parametrize(
    "layer", ["workqueue", *(pytest.param(x, marks=pytest.mark.slow) for x in ("omp", "tbb"))]
)
def test_children_spawned_after_first_use(layer, record_property):
    printed = succeed("spawned_in_child.py", limit=180, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="4")
    record_property("tried", int(printed))
