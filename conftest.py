"""Run every test in strict modes, and tests of CUDA kernels on an emulated GPU."""

import ctypes
import gc
import importlib.util
import mmap
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import hypothesis
import jax
import pytest

pytest_plugins = ["tiers", "budget"]  # of ci/tools

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


ALLOWED = pytest.StashKey[int]()  # pages
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


def pytest_collection_finish() -> None:
    """Spare what is imported and collected from garbage collection: tracing sets it off all the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


RESIDENT = Path("/proc/self/statm")  # which Linux has; the second number counts pages
GROWTH = 2**28 // mmap.PAGESIZE
LIBC = ctypes.CDLL(None)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Give memory back whenever it has grown by 256 MB and a quarter: programs, and leftovers of compilers.

    The collector sees no sizes: what a test has caught is a cycle with its frames, and so with their arrays.
    By a quarter, since to collect takes longer the more there is that stays.
    """
    if RESIDENT.exists() and resident() > item.config.stash.get(ALLOWED, 0):
        jax.clear_caches()
        gc.collect()
        if hasattr(LIBC, "malloc_trim"):  # of glibc, which keeps what lies between other things
            LIBC.malloc_trim(0)
        item.config.stash[ALLOWED] = max(resident() + GROWTH, resident() * 5 // 4)


def resident() -> int:
    """Return how many pages of this process are in memory."""
    return int(RESIDENT.read_text().split()[1])


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
