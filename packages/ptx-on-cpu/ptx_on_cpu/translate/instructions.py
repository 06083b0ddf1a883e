"""Load every module that translates instructions."""

from ptx_on_cpu.translate import bits, choices, control, integers, memory, waiting  # noqa: F401
