"""`jax.export` for programs with native kernels: one process writes them, another reads and calls them.

An exported program names the machine code that it calls. `export` lets those names pass `jax.export`'s check;
`deserialize` finds them in the kernel cache, where the process that exported has left them.
"""

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

import jax

from ffi_bridge.errors import MissingTargetError
from ffi_bridge.native.tracing import effects_of_call
from ffi_bridge.targets import Target, ensure_target, targets

_TARGET: Final = re.compile(
    r'@"?([^"@\s]+\.(numba_cpu|numba_cuda|numba_cuda_python|warp|handler)\.[0-9a-f]{32})"?'
)

# Toolchain -> a function that finds (address, owner) of one of its targets by name, or None.
_FINDERS: Final = {"numba_cpu": "ffi_bridge.numba_cpu.object_code:find"}


def export(function: Any, **options: Any) -> Callable[..., jax.export.Exported]:
    """Do `jax.export.export(function, **options)`, also for a function that calls native kernels.

    Args:
        function: a function under `jax.jit`.
        options: options of `jax.export.export`.

    Returns:
        `(*args, **kwargs) -> jax.export.Exported`, as `jax.export.export` does. Its `serialize` needs
        flatbuffers, which the extra `export` installs.

    Raises:
        TypeError: `function` is not jitted.
    """
    if not hasattr(function, "lower"):
        raise TypeError(f"export takes a jitted function, got {function!r}; call export(jax.jit(function))")
    allowed = list(options.pop("disabled_checks", ()))

    def exported(*args: Any, **kwargs: Any) -> jax.export.Exported:
        # Targets are allowed by name, and only the lowered program has their names.
        names = _named_in(function.lower(*args, **kwargs).as_text())
        checks = [*allowed, *map(jax.export.DisabledSafetyCheck.custom_call, names)]
        return jax.export.export(function, disabled_checks=checks, **options)(*args, **kwargs)

    return exported


def deserialize(content: bytes | bytearray) -> jax.export.Exported:
    """Do `jax.export.deserialize(content)`, and find the machine code of the native kernels that it calls.

    Numba's CPU kernels are read from the kernel cache of the exporting machine, with the same versions. For
    other toolchains and machines, first compile the exported function in this process, or calls of the same
    kernels with the same types and options.

    Raises:
        MissingTargetError: a kernel is neither in the cache nor compiled.
        ModuleNotFoundError: flatbuffers is not installed; the extra `export` installs it.
    """
    try:
        effects_of_call(ordered=True)  # makes the effects known that the program may name
        exported = jax.export.deserialize(bytearray(content))
    except ImportError as error:
        raise ModuleNotFoundError(
            "ffi_bridge.export.deserialize needs flatbuffers, which is not installed; "
            'pip install "ffi-bridge[export]"',
            name="flatbuffers",
        ) from error
    registered = targets()
    for name, toolchain in _named_in(exported.mlir_module()).items():
        if name not in registered:
            _find(name, toolchain)
    return exported


def _named_in(program: str) -> dict[str, str]:
    """Return the native targets of a program -> their toolchains."""
    return dict(_TARGET.findall(program))


def _find(name: str, toolchain: str) -> Target:
    def build() -> tuple[int, object]:
        if toolchain in _FINDERS:
            module, _, attribute = _FINDERS[toolchain].partition(":")
            code = getattr(importlib.import_module(module), attribute)(name)
            if code is not None:
                return code
        raise MissingTargetError(
            f"the program calls {name!r}, which is neither compiled in this process nor in its kernel cache "
            "(ffi_bridge.kernel_cache.folder()), or a C library that it calls is gone or was built anew; "
            f"first call the kernel {name.partition('.')[0]!r} here with the same types and options, or "
            "export again with these versions on this machine"
        )

    return ensure_target(name, build, platform="cpu")
