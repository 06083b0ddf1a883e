"""`python -m ffi_bridge`: report versions, devices and the cache, and run a kernel of each toolchain."""

import importlib
import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import jax

from ffi_bridge import abi, kernel_cache

_PACKAGES = (
    "ffi-bridge",
    "jax",
    "jaxlib",
    "numpy",
    "numba",
    "llvmlite",
    "numba-cuda",
    "warp-lang",
    "ptx-on-cpu",
)
# Module of `self_test` -> the device that its kernel needs.
_TOOLCHAINS = {"numba_cpu": "cpu", "warp": "any", "numba_cuda": "gpu"}


def main() -> int:
    """Print the report; return 1 if a toolchain that is installed fails, else 0."""
    sections = {
        "versions": _versions(),
        "native calls": _native_calls(),
        "devices": _devices(),
        "cache": _cache(),
    }
    for title, lines in sections.items():
        print(title)
        for line in lines:
            print(f"  {line}")
    print("a kernel of each toolchain")
    failed = False
    for name, needs in _TOOLCHAINS.items():
        outcome, passed = _try_toolchain(name, needs)
        print(f"  {name:<12}{outcome}")
        failed |= not passed
    return int(failed)


def _versions() -> Iterator[str]:
    yield f"{'python':<12}{platform.python_version()}, {platform.machine()}"
    for package in _PACKAGES:
        try:
            yield f"{package:<12}{version(package)}"
        except PackageNotFoundError:
            yield f"{package:<12}not installed"


def _native_calls() -> Iterator[str]:
    newest = "XLA FFI {}.{}".format(*abi.COMPARED)
    try:
        abi.check_platform()
    except Exception as error:
        yield f"refused: {error}"
    else:
        yield f"jaxlib's structs are those of {newest}, or an older one"


def _devices() -> Iterator[str]:
    for device in jax.devices():
        yield f"{device.platform}: {device.device_kind}"
    yield f"{os.cpu_count()} processors; XLA's own threads run parallel loops"
    if not _has_gpu():
        # Set once and forgotten, it hides a GPU from JAX.
        why = "JAX_PLATFORMS is " + os.environ["JAX_PLATFORMS"] if "JAX_PLATFORMS" in os.environ else ""
        yield f"no GPU: {why or 'JAX found none; it needs an NVIDIA driver and jax[cuda12] or jax[cuda13]'}"


def _has_gpu() -> bool:
    return any(device.platform == "gpu" for device in jax.devices())


def _cache() -> Iterator[str]:
    folder = kernel_cache.folder()
    if folder is None:
        yield f"kernels are not kept: {kernel_cache.VARIABLE} is {os.environ.get(kernel_cache.VARIABLE)!r}"
        return
    sizes = [path.lstat().st_size for path in kernel_cache.files()]
    yield f"{folder}: {len(sizes)} kernels, {sum(sizes) / 2**20:.1f} MiB"


def _try_toolchain(name: str, needs: str) -> tuple[str, bool]:
    """Run a toolchain's kernel; return the outcome as text, and whether it is as it should be."""
    if needs == "gpu" and not _has_gpu():
        return "not tried: it needs a GPU", True
    start = time.perf_counter()
    try:
        # Imported here, since a toolchain that is not installed must not end the report.
        right = importlib.import_module(f"ffi_bridge.self_test.{name}").run()
    except ModuleNotFoundError as error:
        return f"not tried: {error.name} is not installed", True
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}", False
    return (f"right, in {time.perf_counter() - start:.2f} s" if right else "failed: a wrong result"), right


if __name__ == "__main__":
    sys.exit(main())
