"""Every operator's kernel is read from disk in a second process: none refers to what only its process has."""

import json

import child_python
import pytest

from event_ops.discover import operators

pytestmark = pytest.mark.promise(6)

PROGRAM = """
import json
import jax
import numpy as np
from event_ops.discover import operators
from ffi_bridge.numba_cpu import compile as compiler
jax.config.update("jax_disable_most_optimizations", True)
compile_kernel, compiled = compiler._compile, set()

def noted(*arguments):
    compiled.add(operator.name)
    return compile_kernel(*arguments)

compiler._compile = noted
for operator in operators():
    case, rng = operator.tagged("conformance")[0], np.random.default_rng(0)
    arrays, static = case.make(rng, operator.dtypes[0], "int32")
    jax.block_until_ready(operator.function(*arrays, backend="numba_cpu", **static))
print(json.dumps(sorted(compiled)))
"""


@pytest.mark.slow
def test_a_second_process_compiles_no_operator(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="Numba is not installed")
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    first, second = (json.loads(child_python.output("-c", PROGRAM, new=True, timeout=1800)) for _ in range(2))
    names = [operator.name for operator in operators()]
    names.remove("dense_event_matvec")  # a vector is a matrix of one column, whose kernel is compiled already
    assert first == names
    assert second == []
