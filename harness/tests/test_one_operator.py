"""`nox -s operator -- NAME` collects the cells and tests of that operator, and of no other one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def one_operator(*words):
    program = str(ROOT / "harness" / "conformance" / "one_operator.py")
    env = {name: value for name, value in os.environ.items() if name != "OPERATOR"}
    return subprocess.run([sys.executable, program, *words], capture_output=True, text=True, env=env)


def test_only_its_own_cells_and_tests_are_collected():
    pytest.importorskip("numba", reason="its tests are of kernels in Numba")
    done = one_operator("lif_step", "--collect-only")
    assert done.returncode == 0, done.stdout + done.stderr
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(collected) > 20 and all("lif_step" in line for line in collected)
    assert any(line.startswith("ops/tests/") for line in collected)


@pytest.mark.parametrize(("words", "said"), [((), "name an operator"), (("lif_stap",), "such as lif_step")])
def test_a_name_that_the_catalog_does_not_have_is_refused(words, said):
    done = one_operator(*words)
    assert done.returncode == 2 and said in done.stderr
