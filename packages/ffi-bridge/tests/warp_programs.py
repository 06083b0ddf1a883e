"""Programs for a GPU that JAX makes of Warp kernels, without one: their targets, and calls of those."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from frames import Call

from ffi_bridge.targets import targets


def lowered(f: Callable[..., Any], *args: Any) -> list[str]:
    """The names of the targets in a program for a GPU."""
    text = jax.jit(f).trace(*args).lower(lowering_platforms=("cuda",)).as_text()
    return re.findall(r"custom_call @([\w.]+)", text)


def run(name: str, ins: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
    """Call a target's handler, which must succeed."""
    assert Call(list(ins), list(outs)).run(targets()[name].address) is None
