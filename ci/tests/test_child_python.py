"""A program in a forked child sees, says and ends as in a process that `python` starts."""

import os
import signal
import subprocess
import sys

import child_python
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="each program has a new process")

SEEN = """
import json, os, sys
print(json.dumps([sys.argv, sys.path[0], os.getcwd(), __name__, os.environ["XLA_FLAGS"], sys.stdin.read()]))
"""
OF_JAX_AND_NUMBA = """
import jax, numba
print(jax.device_count(), jax.config.jax_enable_x64, jax.config.jax_platforms, numba.get_num_threads())
"""


def forked(*words, **options):
    """Run a program in a child, and make sure that no other process was started for it."""
    started = child_python.Server.of_this_process()
    with pytest.MonkeyPatch.context() as patch:
        # Tests before this one may have set variables that imports read.
        for name in os.environ.keys() - child_python.BEFORE_TESTS.keys():
            patch.delenv(name)
        for name, value in child_python.BEFORE_TESTS.items():
            patch.setenv(name, value)
        patch.setattr(child_python.subprocess, "run", None)
        assert child_python.Server.of_this_process() is started
        return child_python.run(*words, **options)


@pytest.mark.parametrize("way", ["-c", "-m", "file"])
def test_a_program_sees_what_it_would_see(way, tmp_path):
    (tmp_path / "seen.py").write_text(SEEN)
    words = {"-c": ("-c", SEEN), "-m": ("-m", "seen"), "file": (tmp_path / "seen.py",)}[way]
    options = {"cwd": tmp_path, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    found, expected = (run(*words, "a", "b c", **options) for run in (forked, new))
    assert found.returncode == expected.returncode == 0, found.stderr + expected.stderr
    assert found.stdout == expected.stdout


def new(*words, **options):
    return child_python.run(*words, new=True, **options)


def test_jax_and_numba_have_the_settings_of_the_child():
    pytest.importorskip("numba", reason="Numba is not installed")
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=3"
    settings = {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "NUMBA_NUM_THREADS": "1", "XLA_FLAGS": flags}
    assert forked("-c", OF_JAX_AND_NUMBA, **settings).stdout == "3 True cpu 1\n"
    assert forked("-c", "import jax; print(jax.device_count())").stdout == "1\n"


def test_what_imports_read_is_for_a_new_process():
    printed = child_python.output(
        "-c", "import numba; print(numba.config.DISABLE_JIT)", NUMBA_DISABLE_JIT="1"
    )
    assert printed == "1\n"


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("import atexit, sys; atexit.register(sys.stderr.write, 'end\\n')", 0, "end\n"),
        ("import os; os.kill(os.getpid(), 11)", -signal.SIGSEGV, ""),
    ],
)
def test_a_program_ends_as_it_would(program, code, said):
    done = forked("-c", program)
    assert done.returncode == code and done.stderr.endswith(said), done.stderr


def test_what_fails_says_why():
    with pytest.raises(AssertionError, match=r"(?s)exit 1\nbefore\n.*division by zero"):
        child_python.output("-c", "print('before'); 1 / 0")


def test_a_program_that_hangs_is_ended_and_what_it_said_is_kept():
    with pytest.raises(subprocess.TimeoutExpired) as hung:
        forked("-c", "print('waits', flush=True); import threading; threading.Event().wait()", timeout=0.5)
    assert hung.value.stdout == "waits\n"
    assert forked("-c", "print('goes on')").stdout == "goes on\n"


def test_the_process_has_not_started_jax():
    started = "jax._src.xla_bridge.backends_are_initialized()"
    code = f"import jax, os; print({started}, len(os.listdir('/proc/self/task')))"
    assert forked("-c", code).stdout == "False 1\n"
