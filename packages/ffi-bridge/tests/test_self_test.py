"""`python -m ffi_bridge` says what is installed, and tries a kernel of each toolchain."""

import child_python
import jax
import pytest

from ffi_bridge import __main__ as report
from ffi_bridge.self_test import numba_cpu


def output(module, **environment):
    done = child_python.run("-m", module, **environment)
    return done.returncode, done.stdout


def test_the_report(tmp_path):
    code, text = output("ffi_bridge", FFI_BRIDGE_CACHE_DIR=str(tmp_path), JAX_PLATFORMS="cpu")
    assert code == 0
    for part in (
        f"jax         {jax.__version__}",
        "XLA FFI 0.",
        "no GPU: JAX_PLATFORMS is cpu",
        f"{tmp_path}: 0 kernels",
    ):
        assert part in text
    assert "  numba_cpu   right, in " in text and "  numba_cuda  not tried: it needs a GPU" in text


@pytest.mark.slow
def test_kernels_that_are_not_kept():
    assert (
        "kernels are not kept: FFI_BRIDGE_CACHE_DIR is 'off'"
        in output("ffi_bridge", FFI_BRIDGE_CACHE_DIR="off")[1]
    )


def wrong():
    return False


def raising():
    raise RuntimeError("no compiler")


def missing():
    raise ModuleNotFoundError("No module named 'numba'", name="numba")


@pytest.mark.parametrize(
    ("run", "outcome", "passed"),
    [
        (wrong, "failed: a wrong result", False),
        (raising, "failed: RuntimeError: no compiler", False),
        (missing, "not tried: numba is not installed", True),
    ],
)
def test_a_toolchain_that_fails_is_told_from_one_that_is_missing(monkeypatch, run, outcome, passed):
    monkeypatch.setattr(numba_cpu, "run", run)
    assert report._try_toolchain("numba_cpu", "cpu") == (outcome, passed)
    monkeypatch.setattr(report, "_TOOLCHAINS", {"numba_cpu": "cpu"})
    assert report.main() == int(not passed)
