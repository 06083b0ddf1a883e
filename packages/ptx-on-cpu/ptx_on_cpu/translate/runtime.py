"""Read the functions that each module has beside its kernel, `runtime.ll`, with numbers for names."""

import functools
import re
from typing import Final

from ptx_on_cpu import records
from ptx_on_cpu.buffers import ADDRESS_BITS, ADDRESS_MASK, LOCAL_WINDOW, SHARED_WINDOW
from ptx_on_cpu.checks.races import IN_SHARED
from ptx_on_cpu.records import ACCESS, BLOCK, BUFFER, EXECUTED, THREAD, offset
from ptx_on_cpu.translate.text import pieces, text_of

_RECORDS: Final = {"block": BLOCK, "thread": THREAD, "buffer": BUFFER, "access": ACCESS, "executed": EXECUTED}
# Numbers by the names that `runtime.ll` has for them; those of `records` keep their names.
_NUMBERS: Final = vars(records) | {
    "BITS": ADDRESS_BITS,
    "MASK": ADDRESS_MASK,
    "SHARED": SHARED_WINDOW,
    "LOCAL": LOCAL_WINDOW,
    "SHARED_BASE": SHARED_WINDOW << ADDRESS_BITS,
    "LOCAL_BASE": LOCAL_WINDOW << ADDRESS_BITS,
    "THREAD_SIZE": THREAD.itemsize,
    "BUFFER_SIZE": BUFFER.itemsize,
    "ACCESS_SIZE": ACCESS.itemsize,
    "EXECUTED_SIZE": EXECUTED.itemsize,
    "IN_SHARED": IN_SHARED,
}

_NAME: Final = re.compile(r"@([\w.]+)")
_ENTRY: Final = "run"


def runtime(kernel: str) -> str:
    """Return the text of the functions that the text of a kernel needs, and of the loop that calls it."""
    of_runtime = _pieces()
    needed, open_ = set[str](), {_ENTRY, *_NAME.findall(kernel)}
    while open_:
        name = open_.pop()
        if name in of_runtime and name not in needed:
            needed.add(name)
            open_ |= set(_NAME.findall(of_runtime[name]))
    return "\n".join(text for name, text in of_runtime.items() if name in needed)


@functools.cache
def _pieces() -> dict[str, str]:
    """Return the text of every function of the runtime, by name."""

    def number(field: re.Match[str]) -> str:
        record, _, name = field[1].partition(".")
        return str(offset(_RECORDS[record], name) if name else _NUMBERS[record])

    return pieces(re.sub(r"\{([\w.]+)\}", number, text_of("runtime.ll")))
