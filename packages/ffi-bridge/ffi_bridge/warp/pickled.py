"""Kernels of Warp in pickles of wrapped kernels: by name, as Python pickles functions."""

from __future__ import annotations

import functools
import importlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import warp as wp


@dataclass(frozen=True)
class KernelByName:
    """A Warp kernel in an argument that is pickled; it is read again as that kernel.

    Pickling is not declared for `wp.Kernel` itself: Warp copies kernels by the same means.
    """

    kernel: Any

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        function = self.kernel.func
        name = function.__module__, function.__qualname__
        try:
            found = named(*name)
        except (AttributeError, ImportError):
            found = None
        if found is not self.kernel:
            raise pickle.PicklingError(
                f"kernel '{self.kernel.key}' is not what {'.'.join(name)} names; to be pickled, a Warp "
                "kernel has to be at the top of a module that can be imported"
            )
        return named, name


def by_name(value: Any) -> Any:
    """Return what stands for a Warp kernel in a pickle; any other value as it is."""
    return KernelByName(value) if isinstance(value, wp.Kernel) else value


def named(module: str, name: str) -> Any:
    """Return what a module has under a name with dots."""
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))
