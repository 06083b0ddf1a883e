"""Check that a launch has as many dimensions as a Warp kernel asks `wp.tid()` for.

Warp itself takes any number: coordinates that a launch lacks are 0, and with fewer names than dimensions the
kernel runs several times for the same coordinates.
"""

from __future__ import annotations

import ast
import functools
import math
from types import FunctionType
from typing import Any

from ffi_bridge.errors import KernelDefinitionError
from ffi_bridge.identity.references import references
from ffi_bridge.warp.internals import body_of, is_of_tiles


def check_rank(subject: str, kernel: Any, dims: tuple[int, ...], block_dim: int, is_default: bool) -> None:
    """Raise KernelDefinitionError for launch dimensions that are not as many as the names of `wp.tid()`.

    A kernel with tiles may have one more, the threads of a block, as `wp.launch_tiled` adds it.
    """
    names = names_of_tid(kernel)
    if names in (0, len(dims)) or is_tiled(kernel, dims, block_dim):
        return
    asked = f"{names} name{'s' * (names > 1)}"
    over = f"{dims}, the shape of its first output" if is_default else f"{dims}"
    if names < len(dims):
        why = f"each index would come up {math.prod(dims[names:])} times"
        joined = (*dims[: names - 1], math.prod(dims[names - 1 :]))
        advice = (
            f"such as {dims[-names:]}, the last of these, {dims[:names]}, the first, or {joined}, for all"
        )
    else:
        why = f"the last {names - len(dims)} would always be 0"
        advice = "such as the shape of an input: launch_dims=lambda x, ...: x.shape"
    raise KernelDefinitionError(
        f"{subject} unpacks wp.tid() into {asked}, and is launched over {over}: {why}; give launch_dims with "
        f"{names} extent{'s' * (names > 1)}, {advice}; or unpack wp.tid() into {len(dims)}"
    )


def is_tiled(kernel: Any, dims: tuple[int, ...], block_dim: int) -> bool:
    """Return whether a launch of a kernel with tiles has the threads of a block as one dimension more."""
    is_one_more = len(dims) == names_of_tid(kernel) + 1 and dims[-1] == block_dim
    return is_one_more and uses_tiles(kernel.func)


@functools.cache
def names_of_tid(kernel: Any) -> int:
    """Return into how many names a kernel unpacks `wp.tid()`, at most; 0 for one that does not call it."""
    nodes = list(ast.walk(body_of(kernel)))
    # It cannot be given another name, and no other function can call it.
    calls = [x for x in nodes if isinstance(x, ast.Call) and getattr(x.func, "attr", "") == "tid"]
    targets = [x.targets[0] for x in nodes if isinstance(x, ast.Assign) and x.value in calls]
    return max((len(x.elts) for x in targets if isinstance(x, ast.Tuple)), default=min(1, len(calls)))


def uses_tiles(function: Any) -> bool:
    """Return whether a kernel, or what it calls, works on tiles, which a block has together."""
    seen: set[int] = set()

    def search(function: FunctionType) -> bool:
        if id(function) in seen:
            return False
        seen.add(id(function))
        if any(map(is_of_tiles, function.__code__.co_names)):
            return True
        called = (getattr(value, "func", None) for _, value in references(function, function.__code__))
        return any(search(f) for f in called if isinstance(f, FunctionType))

    return search(function)
