"""Tangent rules of operators that are linear in an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ffi_bridge import XLACustomKernel


def tangent_in(kernel: XLACustomKernel, position: int) -> Callable[..., Any]:
    """The rule `dy = kernel(..., dx, ...)`: the operator itself, with the tangent as input `position`."""

    def rule(tangent: Any, *primals: Any, **params: Any) -> Any:
        return kernel(*primals[:position], tangent, *primals[position + 1 :], **params)

    return rule
