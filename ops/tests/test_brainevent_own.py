"""BrainEvent's own tests, which are in its wheel, pass with the catalog as the default of its primitives."""

import os
from pathlib import Path

import child_python
import pytest

be = pytest.importorskip("brainevent", reason="brainevent is not installed, which needs Python 3.12")
pytest.importorskip("brainstate", reason="brainstate is not installed")

FOLDER = Path(be.__file__).parent
FILES = [
    "_csr/float_test.py",
    "_csr/binary_test.py",
    "_csr/binary_indexed_test.py",
    "_csr/delay_test.py",
    "_csr/delay_layout_test.py",
    "_csr/plasticity_binary_test.py",
    "_csr/main_test.py",
    "_fcn/binary_test.py",
    "_fcn/main_test.py",
    "_fcn/plasticity_binary_test.py",
    "_dense/binary_test.py",
    "_dense/main_test.py",
    "_tcsr/binary_test.py",
    "_tcsr/float_test.py",
    "_tcsr/main_test.py",
    "_event/compact_test.py",
]
# What is about BrainEvent's other backends, and what is left out by name -> why.
OTHERS = ("numba", "jax", "cuda", "cublas", "cusparse", "benchmark", "exported")
LEFT_OUT = {
    "float16": "delays in 16 bits stay with BrainEvent's Numba backend, which does not take them",
    "needs_no_nvcc": "reloads BrainEvent's modules, after which its registry has other primitives",
    "traced_out_of_range_delays": "a delay out of range contributes nothing here",
    "traced_delays_wrap": "a delay out of range contributes nothing here",
    "unsigned_delays": "a delay out of range contributes nothing here",
    "delays_beyond_int32": "a delay out of range contributes nothing here",
}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_brainevents_own_tests_pass(file, tmp_path):
    if not (FOLDER / file).exists():
        pytest.skip(f"brainevent {be.__version__} has no {file}")
    chosen = " and ".join(f"not {word}" for word in (*OTHERS, *LEFT_OUT))
    options = ("-q", "-p", "brainevent_installed", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short")
    path = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    words = ("-m", "pytest", *options, "-k", chosen, FOLDER / file)
    done = child_python.run(*words, cwd=tmp_path, new=True, timeout=3600, PYTHONPATH=path)
    assert done.returncode == 0, done.stdout[-5000:]
