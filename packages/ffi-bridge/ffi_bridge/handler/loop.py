"""A counted loop in LLVM IR."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir


@contextmanager
def count_to(builder: Any, extent: Any) -> Generator[Any]:
    """Emit the body of `for index in range(extent)`; yields the index."""
    function, start = builder.function, builder.block
    test, body, done = (function.append_basic_block(f"loop.{part}") for part in ("test", "body", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    index = builder.phi(extent.type)
    index.add_incoming(ir.Constant(extent.type, 0), start)
    builder.cbranch(builder.icmp_signed("<", index, extent), body, done)
    builder.position_at_end(body)
    yield index
    index.add_incoming(builder.add(index, ir.Constant(extent.type, 1)), builder.block)
    builder.branch(test)
    builder.position_at_end(done)
