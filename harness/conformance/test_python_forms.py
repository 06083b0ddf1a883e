"""Numba kernels are valid Python: in a debugger they give what their machine code gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from all_operators import OPERATORS


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("threads",)], ids=["serial", "threads"])
def test_every_kernel_as_python_gives_what_its_oracle_gives(words):
    pytest.importorskip("numba", reason="Numba is not installed")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    program = Path(__file__).with_name("python_forms.py")
    done = subprocess.run(
        [sys.executable, program, *words], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    checked = json.loads(done.stdout)
    assert set(checked) == {operator.name for operator in OPERATORS}
    assert min(checked.values()) > 2
