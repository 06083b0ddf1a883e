"""Read in a Warp kernel how many dimensions it asks `wp.tid()` for, and which arrays it stores to.

Warp itself takes any number of dimensions: coordinates that a launch lacks are 0, and with fewer names than
dimensions the kernel runs several times for the same coordinates.

Warp marks stores and atomics, also through views and in functions that a kernel calls. It marks no stores
through a second name of an array, `z = x`, or by tiles. These are found in the C++ that it writes.
"""

import ast
import functools
import math
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import warp as wp

from ffi_bridge.errors import KernelDefinitionError
from ffi_bridge.identity.references import reached
from ffi_bridge.native.private_api import replaced
from ffi_bridge.warp.internals import body_of, context, is_array, is_of_tiles


def check_rank(subject: str, kernel: Any, dims: tuple[int, ...], block_dim: int, is_default: bool) -> None:
    """Raise KernelDefinitionError for launch dimensions that are not as many as the names of `wp.tid()`.

    A kernel with tiles may have one more, the threads of a block, as `wp.launch_tiled` adds it.
    """
    names = names_of_tid(kernel)
    if names in (0, len(dims)) or is_tiled(kernel, dims, block_dim):
        return
    into = f"{names} name{'s' * (names > 1)}"
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
        f"{subject} unpacks wp.tid() into {into}, and is launched over {over}: {why}; give launch_dims with "
        f"{names} extent{'s' * (names > 1)}, {advice}; or unpack wp.tid() into {len(dims)}"
    )


def is_tiled(kernel: Any, dims: tuple[int, ...], block_dim: int) -> bool:
    """Return whether a launch of a kernel with tiles has the threads of a block as one dimension more."""
    if len(dims) != names_of_tid(kernel) + 1 or dims[-1] != block_dim:
        return False
    functions = reached(kernel.func, lambda value: getattr(value, "func", None))
    return any(map(is_of_tiles, chain.from_iterable(f.__code__.co_names for f in functions)))


@functools.cache
def names_of_tid(kernel: Any) -> int:
    """Return into how many names a kernel unpacks `wp.tid()`, at most; 0 for one that does not call it."""
    nodes = list(ast.walk(body_of(kernel)))
    # It cannot be given another name, and no other function can call it.
    calls = [x for x in nodes if isinstance(x, ast.Call) and getattr(x.func, "attr", "") == "tid"]
    targets = [x.targets[0] for x in nodes if isinstance(x, ast.Assign) and x.value in calls]
    return max((len(x.elts) for x in targets if isinstance(x, ast.Tuple)), default=min(1, len(calls)))


# A call whose result may be one of its arguments, as that of a copy, of where() or of a function, an
# assignment to an existing name, and a store by a tile, which is to its first argument.
_CALL: Final = re.compile(r"(var_\w+) = (?!wp::(?:address|load|tile_))[\w:<>, ]+\((.*)\);")
_ASSIGNMENT: Final = re.compile(r"wp::assign\((var_\w+), (var_\w+)\);")
_TILE_STORE: Final = re.compile(r"wp::tile_(?:store|atomic|scatter)\w*(?:<[^()]*>)?\((var_\w+)")
_NAME: Final = re.compile(r"var_\w+")
# An element's address, through which Warp marks stores, and extents: a mention that stores nothing.
_READING: Final = r"= wp::address\({0}\b|&\({0}\.shape\)"


class Stores(NamedTuple):
    """The array parameters that a kernel stores to, and the ones that it certainly leaves alone."""

    written: frozenset[str]
    unwritten: frozenset[str]


class _Builder(context.ModuleBuilder):
    """A builder that marks the arguments of each function before a caller reads the marks."""

    def build_function(self, func: Any) -> None:
        """Build a function and all that it calls, and mark its arguments."""
        is_new = func not in self.functions
        super().build_function(func)
        if is_new:
            _mark(func.adj)


def stores_of(kernel: Any) -> Stores:
    """Return which array parameters a kernel, or a function that it calls, stores to.

    Stores by native code, through arrays in structs, and through pointers are not found, and parameters that
    come so far count as neither.
    """
    # With this option Warp's compiler notes which arrays are written.
    options = {**kernel.module.options, **kernel.options, "verify_autograd_array_access": True}
    nothing = SimpleNamespace(unique_kernels={}, get_unique_kernels=list)
    builder = _Builder(kernel.module, options, nothing)
    with replaced(wp.config, log_level=sys.maxsize):  # it warns where an array is read and then written
        builder.build_kernel(kernel)
    _mark(kernel.adj)
    lines = _lines(kernel.adj)
    written = {arg.label: arg.is_write for arg in kernel.adj.args if is_array(arg.type)}
    names = {arg.label: arg.emit() for arg in kernel.adj.args if arg.label in written}
    return Stores(
        frozenset(x for x in written if written[x]),
        frozenset(x for x in written if not written[x] and _is_only_read(names[x], lines)),
    )


def _is_only_read(name: str, lines: Sequence[str]) -> bool:
    """Return whether all that the C++ of a kernel does with an array is to read elements and extents."""
    mention, reading = re.compile(rf"\b{name}\b"), re.compile(_READING.format(name))
    return all(reading.search(line) for line in lines if mention.search(line))


def _lines(adjoint: Any) -> list[str]:
    """Return the C++ of a kernel or function, of which a comment is no part."""
    every = (line for block in adjoint.blocks for line in block.body_forward)
    return [line for line in every if not line.lstrip().startswith("//")]


def _mark(adjoint: Any) -> None:
    """Mark arrays that are stored to under a second name, or by tiles, as Warp itself marks arrays."""
    arrays = {x.emit(): x for x in (*adjoint.args, *adjoint.variables) if is_array(x.type)}
    lines = _lines(adjoint)
    for name in filter(None, (match and match[1] for match in map(_TILE_STORE.search, lines))):
        if name in arrays:
            arrays[name].is_write = True
    same = [pair for line in lines for pair in _same_arrays(line) if arrays.keys() >= {*pair}]
    for _ in same:  # each turn follows all pairs, and so many turns follow any chain of them
        for name, source in same:
            arrays[source].is_write |= arrays[name].is_write


def _same_arrays(line: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of variables of which the first may be the array that the second is."""
    if match := _ASSIGNMENT.search(line):
        yield match[1], match[2]
    elif match := _CALL.search(line):
        for source in _NAME.findall(match[2]):
            yield match[1], source
