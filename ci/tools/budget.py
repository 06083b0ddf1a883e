"""Count what a session of tests costs, and fail where ci/budget.toml allows less: a plugin of pytest.

`pytest --budget SESSION` counts the tests, the kernels that Numba, Warp and NVRTC compile for the bridge, the
programs that XLA compiles, and the processes that are started. A kernel or program counts when it is asked
for, once in all workers together, by the key that caches on disk know it by. So it makes no difference
whether it was compiled or read from a cache, in which order and worker, nor how busy the machine is.
"""

import importlib.util
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Generator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from jax._src import compilation_cache  # the keys of programs are not public

from ffi_bridge import kernel_cache

BUDGET = Path(__file__).parents[1] / "budget.toml"
KINDS = ("tests", "kernels", "programs", "processes")
MOST = 10  # tests that a failure names


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption(
        "--budget", metavar="SESSION", help="count what it compiles, against this part of a budget"
    )
    parser.addoption(
        "--budget-file", default=BUDGET, type=Path, metavar="FILE", help="default: ci/budget.toml"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count from now on."""
    if config.option.budget:
        config.pluginmanager.register(Costs(config), "costs")


class Costs:
    """Hold costs by the test that asks first; workers of pytest-xdist hand theirs to the first process."""

    def __init__(self, config: pytest.Config) -> None:
        self.allowed = tomllib.loads(config.option.budget_file.read_text(encoding="utf-8"))[
            config.option.budget
        ]
        self.askers: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        self.test = "collection"
        self.patches = pytest.MonkeyPatch()
        config.add_cleanup(self.patches.undo)
        self.before(kernel_cache, "load", lambda key: self.ask("kernels", key))
        self.before(compilation_cache, "get_executable_and_time", lambda key: self.ask("programs", key))
        for started in ((subprocess.Popen, "__init__"), (BaseProcess, "start")):
            self.before(*started, self.ask_for_process)
        if importlib.util.find_spec("warp"):
            self.count_warp()

    def before(self, owner: Any, name: str, count: Any) -> None:
        """Have `count` called with the first argument of each call of a function, before that."""
        function = getattr(owner, name)

        def counted(first: Any, *args: Any, **options: Any) -> Any:
            count(first)
            return function(first, *args, **options)

        self.patches.setattr(owner, name, counted)

    def count_warp(self) -> None:
        """Count the modules that Warp's own cache keeps."""
        internals = importlib.import_module("ffi_bridge.warp.internals")
        load = internals.loaded_on_cpu

        def counted(kernel: Any) -> Any:
            module = load(kernel)
            self.ask("kernels", str(getattr(module, "module_hash", kernel)))
            return module

        self.patches.setattr(internals, "loaded_on_cpu", counted)

    def ask(self, kind: str, key: str) -> None:
        """Note which test asks first."""
        self.askers[kind].setdefault(key, self.test)

    def ask_for_process(self, _: Any) -> None:
        """Count a process that a test starts: none is the same as another one."""
        if self.askers["tests"]:
            self.ask("processes", f"{os.getpid()}.{len(self.askers['processes'])}")

    def too_many(self) -> list[str]:
        """Return of which kinds there were more than the budget allows; one that it does not name is free."""
        return [kind for kind in KINDS if len(self.askers[kind]) > self.allowed.get(kind, sys.maxsize)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Count a test, which costs from here on are for."""
        self.test = item.nodeid
        self.ask("tests", item.nodeid)
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the counts of a worker."""
        for kind, askers in getattr(node, "workeroutput", {}).get("askers", {}).items():
            self.askers[kind] = askers | self.askers[kind]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over the counts, or fail where they exceed the budget."""
        if hasattr(session.config, "workerinput"):
            session.config.workeroutput["askers"] = self.askers  # type: ignore[attr-defined]
        elif self.too_many() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the counts; of each kind beyond the budget, the tests that asked first for the most."""
        terminalreporter.section(f"budget of {config.option.budget}")
        for kind in KINDS:
            limit = self.allowed.get(kind, "any number")
            terminalreporter.line(f"{len(self.askers[kind]):6} {kind}, of {limit}")
        for kind in self.too_many():
            terminalreporter.line(f"Too many {kind}, see {config.option.budget_file}; most are asked for by")
            for test, count in Counter(self.askers[kind].values()).most_common(MOST):
                terminalreporter.line(f"{count:6} {test}")
