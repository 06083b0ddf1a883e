"""Find the arrays that a Warp kernel stores to: by Warp's own marks, and by the code that Warp writes.

Warp marks stores and atomics, also through views and in functions that a kernel calls. It marks no stores
through a second name of an array, `z = x`, or by tiles. These are found in the C++ that it writes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import warp as wp

from ffi_bridge.warp.internals import context, is_array

# A call whose result may be one of its arguments, as that of a copy, of where() or of a function, an
# assignment to an existing name, and a store by a tile, which is to its first argument.
_CALL: Final = re.compile(r"(var_\w+) = (?!wp::(?:address|load|tile_))[\w:<>, ]+\((.*)\);")
_ASSIGNMENT: Final = re.compile(r"wp::assign\((var_\w+), (var_\w+)\);")
_TILE_STORE: Final = re.compile(r"wp::tile_(?:store|atomic|scatter)\w*(?:<[^()]*>)?\((var_\w+)")
_NAME: Final = re.compile(r"var_\w+")


class _Builder(context.ModuleBuilder):
    """A builder that marks the arguments of each function before a caller reads the marks."""

    def build_function(self, func: Any) -> None:
        """Build a function and what it calls, and mark its arguments."""
        is_new = func not in self.functions
        super().build_function(func)
        if is_new:
            _mark(func.adj)


def written_by(kernel: Any) -> set[str]:
    """Return the array parameters that a kernel, or a function that it calls, stores to.

    Stores by native code, through arrays in structs, and through pointers are not found.
    """
    options = {**kernel.module.options, **kernel.options, "verify_autograd_array_access": True}
    nothing = SimpleNamespace(unique_kernels={}, get_unique_kernels=list)
    builder = _Builder(kernel.module, options, nothing)
    before = wp.config.log_level
    wp.config.log_level = sys.maxsize  # it warns where an array is read and then written
    try:
        builder.build_kernel(kernel)
    finally:
        wp.config.log_level = before
    _mark(kernel.adj)
    return {arg.label for arg in kernel.adj.args if arg.is_write}


def _mark(adjoint: Any) -> None:
    """Mark arrays that are stored to under another name, or by tiles, as Warp marks the others."""
    arrays = {x.emit(): x for x in (*adjoint.args, *adjoint.variables) if is_array(x.type)}
    lines = [line for block in adjoint.blocks for line in block.body_forward]
    for name in filter(None, (found and found[1] for found in map(_TILE_STORE.search, lines))):
        if name in arrays:
            arrays[name].is_write = True
    same = [pair for line in lines for pair in _same_arrays(line) if arrays.keys() >= {*pair}]
    for _ in same:  # each turn follows all pairs, and so many turns follow any chain of them
        for name, source in same:
            arrays[source].is_write |= arrays[name].is_write


def _same_arrays(line: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of variables of which the first may be the array that the second is."""
    if found := _ASSIGNMENT.search(line):
        yield found[1], found[2]
    elif found := _CALL.search(line):
        for source in _NAME.findall(found[2]):
            yield found[1], source
