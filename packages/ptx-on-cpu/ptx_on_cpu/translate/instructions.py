"""Translate kernels, with the instructions of all modules of this room."""

from __future__ import annotations

from ptx_on_cpu.syntax.program import Function
from ptx_on_cpu.translate import bits, choices, control, integers, memory, waiting
from ptx_on_cpu.translate.function import Translation
from ptx_on_cpu.translate.operands import Layout, Options

# Each registers the instructions that it translates.
MODULES = (bits, choices, control, integers, memory, waiting)


def translation(function: Function, layout: Layout, options: Options) -> Translation:
    """Return the translation of a kernel, to begin."""
    return Translation(function, layout, options)
