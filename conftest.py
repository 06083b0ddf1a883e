"""Run every test in strict modes, and tests of CUDA kernels on an emulated GPU."""

import gc
import importlib.util
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import jax
import pytest

# What JAX would promote or broadcast silently is an error in tests.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Thousands of small programs are compiled, and each runs once.
jax.config.update("jax_disable_most_optimizations", True)
# XLA before jax 0.11 has an older way to compile them, which takes half as long.
OLDER_EMITTERS = "--xla_cpu_use_fusion_emitters=false"
if jax.__version_info__ < (0, 11) and OLDER_EMITTERS not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {OLDER_EMITTERS}".strip()

# The first call of an example compiles, so a deadline would measure the compiler.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if "CI" in os.environ else "default")
# To try the constants of our sources, too, it would parse all of them, which takes seconds in each process.
if importlib.util.find_spec(PROVIDERS := "hypothesis.internal.conjecture.providers"):
    providers = importlib.import_module(PROVIDERS)
    if {"_get_local_constants", "_local_constants"} <= vars(providers).keys():
        providers._get_local_constants = lambda: providers._local_constants


KERNELS, PROGRAMS = "FFI_BRIDGE_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR"
WEEK = 7 * 24 * 3600


def pytest_configure(config: pytest.Config) -> None:
    """Share what is compiled between processes and runs, in pytest's cache: `--cache-clear` empties it."""
    if {KERNELS, PROGRAMS} <= os.environ.keys():
        return  # a process of a run that has been here, or a folder of the user's
    if config.pluginmanager.hasplugin("cacheprovider"):
        compiled = config.cache.mkdir("compiled")
    else:
        folder = tempfile.TemporaryDirectory(prefix="compiled-")
        config.add_cleanup(folder.cleanup)
        compiled = Path(folder.name)
    forget_what_nobody_read(compiled)
    os.environ.setdefault(KERNELS, str(compiled / "kernels"))
    os.environ.setdefault(PROGRAMS, str(compiled / "programs"))
    settings = {"compilation_cache_dir": os.environ[PROGRAMS]}
    settings |= {"persistent_cache_min_compile_time_secs": 0, "persistent_cache_min_entry_size_bytes": -1}
    for name, value in settings.items():
        jax.config.update(f"jax_{name}", value)
        os.environ[f"JAX_{name.upper()}"] = str(value)


def forget_what_nobody_read(folder: Path) -> None:
    """Delete the files that no run of the last week has read."""
    for path in folder.glob("*/*"):
        if path.stat().st_atime < time.time() - WEEK:
            path.unlink(missing_ok=True)


def values_of(case: Any) -> set[Any]:
    """Return the parameters of a case and what they are, by identity; as one what is parametrized as one."""
    left = dict(case.callspec.params)
    found = set()
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        found.add(tuple((name, id(left.pop(name.strip()))) for name in names))
    return found | {(name, id(value)) for name, value in left.items()}


def each_value_once(cases: list[Any]) -> list[Any]:
    """Return so few cases of a test that each value of each parameter is in one of them, in turns."""
    left = {case: values_of(case) for case in cases}
    shown: Counter[Any] = Counter()
    chosen = []
    if all(len(values) == 1 for values in left.values()):
        return cases  # one parameter of thousands of values
    while left := {case: values for case, values in left.items() if values - shown.keys()}:
        chosen.append(min(left, key=lambda case: sum(shown[value] for value in left[case])))
        shown.update(left[chosen[-1]])
    return chosen


def is_part(name: str, case_id: str) -> bool:
    """Return whether a name is one or more parts of a case's id."""
    return f"-{name}-" in f"-{case_id}-"


def slow_parts(case: Any) -> list[str]:
    """Return what a test's marks `slow_cases` name."""
    return [name for mark in case.iter_markers("slow_cases") for name in mark.args]


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any) -> Generator[None, Any, Any]:
    """Refuse a test whose mark `slow_cases` has a name that is part of no case's id.

    Here a test has all of its cases, whichever of them a command asks for.
    """
    cases = yield
    if isinstance(cases, list) and cases:
        ids = [case.callspec.id for case in cases if hasattr(case, "callspec")]
        lost = [name for name in slow_parts(cases[0]) if not any(is_part(name, case_id) for case_id in ids)]
        if lost:
            raise collector.CollectError(
                f"{cases[0].nodeid.partition('[')[0]}: slow_cases names {lost}; expected parts of {ids}"
            )
    return cases


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark as slow what `slow_cases` names, and, of tests with several parameters, what only combines
    values that other cases have.
    """
    tests = defaultdict(list)
    for item in items:
        if any(is_part(name, item.callspec.id) for name in slow_parts(item)):
            item.add_marker("slow")
        marks = {mark.name for mark in item.iter_markers()}
        if hasattr(item, "callspec") and not marks & {"slow", "promise"}:
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        for case in {*cases} - {*each_value_once(cases)}:
            case.add_marker("slow")


def pytest_collection_finish() -> None:
    """Spare what is imported and collected from garbage collection: tracing sets it off all the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was skipped and why, in a line for each reason."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("skipped")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5} {reason.removeprefix('Skipped: ').splitlines()[0]}")
    sessions = {"slow": "slow", "promise": "promises"}
    for mark, session in sessions.items():
        if f"not {mark}" in config.option.markexpr:
            terminalreporter.line(f"Left out: what is marked {mark}, which `nox -s {session}` runs.")


@pytest.fixture(scope="session")
def gpu() -> Any:
    """The emulated GPU, the same for every test of the process; operators and Warp stay on the CPU."""
    pytest.importorskip("ptx_on_cpu", reason="ptx-on-cpu is not installed")
    driver = importlib.import_module("ffi_bridge.emulated").emulate_gpu()
    driver.backends = ()
    return driver


@pytest.fixture
def warp_on_gpu(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The emulated GPU, which takes kernels of Warp, too."""
    pytest.importorskip("warp", reason="warp-lang is not installed")
    monkeypatch.setattr(gpu, "backends", ("warp",))
    return gpu


@pytest.fixture
def on_gpu(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operators' CUDA backends on the emulated GPU; its threads run in another order at each launch."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    monkeypatch.setattr(gpu, "seed", 0)
    monkeypatch.setattr(gpu, "backends", ("numba_cuda",))
