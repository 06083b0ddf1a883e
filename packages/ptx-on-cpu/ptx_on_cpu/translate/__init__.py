"""Translate PTX functions into LLVM's text; each module registers the instructions that it translates."""

from ptx_on_cpu.translate import bits, choices, control, integers, memory, waiting
from ptx_on_cpu.translate.function import Translation

__all__ = ["Translation", "bits", "choices", "control", "integers", "memory", "waiting"]
