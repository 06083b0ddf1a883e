"""The budget counts kernels, programs and processes, once in all workers, and fails a session beyond it."""

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import subprocess
import sys

import jax
import numpy as np
import pytest

from ffi_bridge import kernel_cache


@pytest.mark.parametrize("key", ["one kernel", "one kernel", "another one"])
def test_kernels(key):
    assert kernel_cache.load(key) is None


@pytest.mark.parametrize("factor", [1.5, 2.5, 2.5])
def test_programs(factor):
    jax.jit(lambda x: factor * x)(np.arange(7.0))


def test_processes():
    for _ in range(2):
        subprocess.run([sys.executable, "-S", "-c", ""], check=True)
"""
BUDGET = "[session]\ntests = {tests}\nkernels = {kernels}\nprograms = {programs}\nprocesses = {processes}\n"
COSTS = {"tests": 7, "kernels": 2, "programs": 2, "processes": 2}
CACHE = """
import jax
jax.config.update("jax_compilation_cache_dir", {folder!r})
pytest_plugins = ["budget"]
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run the tests with a budget, in another process: counting replaces functions of the libraries."""
    pytester.makeconftest(CACHE.format(folder=str(pytester.mkdir("programs"))))
    file = pytester.makepyfile(TESTS)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "tools"), prepend=os.pathsep)
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(pytester.mkdir("kernels")))

    def run(*options, **allowed):
        budget = pytester.path / "budget.toml"
        budget.write_text(BUDGET.format(**COSTS | allowed))
        return pytester.runpytest_subprocess("--budget", "session", "--budget-file", budget, *options, file)

    return run


def test_what_is_asked_for_counts_once_whoever_asks_and_whatever_is_kept(run):
    for workers in ("2", "0"):  # the second run reads programs from the cache
        done = run("-n", workers)
        assert done.ret == 0
        done.stdout.fnmatch_lines([f"*{n} {kind}, of {n}" for kind, n in COSTS.items()])


def test_more_than_the_budget_fails_and_names_who_asks(run):
    done = run("-n", "0", **{kind: cost - 1 for kind, cost in COSTS.items()})
    assert done.ret == 1
    done.assert_outcomes(passed=7)
    for kind in COSTS:
        asking = "test_kernels" if kind == "tests" else f"test_{kind}"
        done.stdout.fnmatch_lines(
            [f"Too many {kind}, see *budget.toml; most are asked for by", f"*::{asking}*"]
        )
