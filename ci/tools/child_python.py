"""Run Python programs in children of a process that has imported what they need, which takes a second.

The first call starts that process. It asks nothing of JAX, so that it has no backend, and no thread of JAX's.
A child has the environment, arguments, folder and outputs that `python` would have, and ends as that does.
But children share the seed of hashes and most addresses, and imports are behind them: a test of imports, or
of what one process keeps on disk for the next, asks for a `new` process.
"""

import atexit
import faulthandler
import functools
import gc
import importlib
import importlib.util
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

PRELOADED = ("jax.numpy", "numba", "ffi_bridge", "event_ops.discover", "pytest")
# Variables of the project that are read when they are needed, and of others that `read_again` knows.
READ_LATE = (
    *("FFI_BRIDGE_", "JAX_", "XLA_FLAGS", "PJRT_NPROC", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER"),
    *("PYTHONPATH", "COLUMNS", "KMP_"),  # the last are of OpenMP, and set by libraries that tests import
)
OF_WORKERS = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST")  # a child is none, so that what it measures is


def run(
    *words: object, timeout: float = 300, cwd: Path | None = None, new: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `python *words` with these variables; raise TimeoutExpired after `timeout` seconds."""
    command = [*map(str, words)]
    environment = inherited() | variables
    if new or sys.platform != "linux" or not Server.of_this_process().may_give(environment):
        options: dict[str, Any] = {"env": environment, "cwd": cwd, "timeout": timeout}
        return subprocess.run([sys.executable, *command], capture_output=True, text=True, **options)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("out", "err")]
        request = {"words": command, "environment": environment, "folder": str(cwd or Path.cwd())}
        code = Server.of_this_process().code_of(**request, files=[*map(str, files)], timeout=timeout)
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
    if code == -signal.SIGALRM:
        raise subprocess.TimeoutExpired(command, timeout, *texts)
    return subprocess.CompletedProcess(command, code, *texts)


def output(*words: object, **options: Any) -> str:
    """Return the output of a program; if it fails, so does the test, with both of its outputs."""
    done = run(*words, **options)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def inherited() -> dict[str, str]:
    """Return the environment of this process without the variables of pytest."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OF_WORKERS)}


BEFORE_TESTS = inherited()  # of which a test that has the first child may have changed some


class Server:
    """Hold the process that has imported; it ends with the one that started it."""

    def __init__(self) -> None:
        self.environment = BEFORE_TESTS
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, __file__], env=self.environment, **pipes)
        atexit.register(self.process.communicate)  # ends its input, and waits

    @classmethod
    @functools.cache
    def of_this_process(cls) -> "Server":
        """Return the only one."""
        return cls()

    def may_give(self, environment: dict[str, str]) -> bool:
        """Return whether a child can have an environment: all that differs there is read after imports."""
        changed = {name for name, _ in environment.items() ^ self.environment.items()}
        return all(name.startswith(READ_LATE) for name in changed)

    def code_of(self, **request: Any) -> int:
        """Return the exit code of a child that becomes the requested program; negative after a signal."""
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())  # type: ignore[union-attr]


def serve() -> None:
    """Fork for each line of standard input, and print how the child ended; a child returns, too."""
    for name in PRELOADED:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    gc.freeze()
    while line := sys.stdin.readline():
        if (child := os.fork()) == 0:
            return become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(
    words: list[str], environment: dict[str, str], folder: str, files: list[str], timeout: float
) -> None:
    """Run a program as `__main__`, in place of this one; an alarm ends it, whatever it waits for."""
    signal.setitimer(signal.ITIMER_REAL, timeout)
    for number, file in enumerate([os.devnull, *files]):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    faulthandler.enable()
    os.chdir(folder)
    read_again(environment)
    what, *sys.argv = words if words[0] in ("-c", "-m") else ("", *words)
    sys.path[0] = str(Path(sys.argv[0]).parent) if what == "" else folder if what == "-m" else ""
    if what == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    if what == "-c":
        source, name, sys.argv[0] = sys.argv[0], "<string>", "-c"
    else:
        source, name = Path(sys.argv[0]).read_bytes(), sys.argv[0]
        main.__file__ = name
    exec(compile(source, name, "exec"), vars(main))


def read_again(environment: dict[str, str]) -> None:
    """Set the environment, and the settings of JAX and Numba that imports have read from it."""
    changed = {name: value for name, value in environment.items() if os.environ.get(name) != value}
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = [path for path in changed.get("PYTHONPATH", "").split(os.pathsep) if path not in sys.path]
    jax = sys.modules["jax"]
    for name in (name.lower() for name in changed if name.startswith("JAX_")):
        old, value = jax.config.values[name], os.environ[name.upper()]
        jax.config.update(name, type(old)(int(value)) if isinstance(old, bool | int | float) else value)
    if numba := sys.modules.get("numba"):
        numba.config.reload_config()
        numba.np.ufunc.parallel.NUM_THREADS = numba.config.NUMBA_NUM_THREADS


if __name__ == "__main__":
    serve()
