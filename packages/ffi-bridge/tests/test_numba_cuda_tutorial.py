"""The tutorial that gave the CUDA wrappers their names runs on the emulated GPU, word for word.

But for the number of its timing loops. It lies beside the project, and is skipped where it is missing.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

RUNNER = Path(__file__).parents[4] / "shared" / "tools" / "run_seeds.py"


def main():
    """Run the tutorial and print its state: in a process of its own, since it changes numba-cuda."""
    cuda = importlib.import_module("numba.cuda")
    library = importlib.import_module("ffi_bridge")
    importlib.import_module("ffi_bridge.emulated").emulate_gpu()
    cuda.is_available = lambda: True
    cuda.get_current_device = lambda: SimpleNamespace(name="emulated")
    # What is registered for a GPU runs on the CPU, where the emulated one launches.
    library.XLACustomKernel.def_numba_cuda_kernel = lambda self, builder: self.def_kernel(
        "numba_cuda", "cpu", builder
    )
    spec = importlib.util.spec_from_file_location("run_seeds", RUNNER)
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    mend = runner.mend
    runner.mend = lambda code: re.sub(r"N_TRIALS = \d+", "N_TRIALS = 1", mend(code))
    state, text = runner.run("numba_cuda", library)
    print(text)
    print(state)
    return int(state != "PASS")


@pytest.mark.slow
@pytest.mark.skipif(not RUNNER.exists(), reason="the tutorials are not beside this project")
def test_the_tutorial_runs():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Spike detection error: 0" in done.stdout


if __name__ == "__main__":
    sys.exit(main())
