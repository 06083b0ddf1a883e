"""Numba kernels are valid Python: in a debugger they give what their machine code gives."""

import json
from pathlib import Path

import child_python
import pytest
from all_operators import OPERATORS


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("threads",)], ids=["serial", "threads"])
def test_every_kernel_as_python_gives_what_its_oracle_gives(words):
    pytest.importorskip("numba", reason="Numba is not installed")
    program = Path(__file__).with_name("python_forms.py")
    checked = json.loads(child_python.output(program, *words, timeout=3600, NUMBA_DISABLE_JIT="1"))
    assert set(checked) == {operator.name for operator in OPERATORS}
    assert min(checked.values()) > 2
