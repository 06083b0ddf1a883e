"""Ask Linux to back large outputs by huge pages before a kernel writes them.

XLA hands out fresh memory, and the first write to each of its pages is a page fault: for an output of many
megabytes that is most of the time. With huge pages there are 512 times fewer.
"""

from __future__ import annotations

import sys
from mmap import PAGESIZE
from typing import Any, Final

from llvmlite import ir

from ffi_bridge.handler.c_code import call_c
from ffi_bridge.handler.frame import I32, I64, POINTER

MIN_BYTES: Final = 4 << 20  # two huge pages on x86: from here the advice costs far less than it saves
MADV_HUGEPAGE: Final = 14  # <linux/mman.h>


def prefer_huge_pages(builder: Any, data: Any, size: Any) -> None:
    """Emit the advice for `size` bytes at `data`; advice that the system cannot take is ignored."""
    if sys.platform != "linux":
        return
    is_large = builder.icmp_unsigned(">=", size, ir.Constant(I64, MIN_BYTES))
    with builder.if_then(is_large, likely=False):
        address = builder.ptrtoint(data, I64)
        offset = builder.and_(address, ir.Constant(I64, PAGESIZE - 1))
        page = builder.inttoptr(builder.sub(address, offset), POINTER)
        advice = ir.Constant(I32, MADV_HUGEPAGE)
        call_c(builder, "madvise", I32, [page, builder.add(size, offset), advice])
