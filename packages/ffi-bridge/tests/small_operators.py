"""What operators of tests are made of, and modules that look as if they were (not) installed."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge.operators.kernel import XLACustomKernel

Write = Callable[..., Path]  # of a tuning table


def adds(value: float) -> Callable[..., Any]:
    return lambda **_: lambda x: x + value


def multiplies(outs: Any, factor: float = 2.0) -> Callable[..., Any]:
    """The builder of x -> factor * x, once for each output."""
    return lambda x: [factor * x for _ in jax.tree.leaves(outs)]


def broken(name: str, result: Any) -> XLACustomKernel:
    operator = XLACustomKernel(name)
    operator.def_kernel("wrong", "cpu", lambda **_: lambda x: result)
    return operator


def random(*shape: int) -> jax.Array:
    rng = np.random.default_rng(list(shape))
    return jnp.asarray(rng.uniform(-1, 1, shape), jnp.float32)


class Traced:
    """`jax.jit(x -> operator(x))` that counts how often it is traced."""

    def __init__(self, operator: XLACustomKernel) -> None:
        self.count = 0
        self._operator = operator
        self._jitted = jax.jit(self._body)

    def _body(self, x: jax.Array) -> jax.Array:
        self.count += 1
        return self._operator(x, outs=x)

    def __call__(self) -> int:
        return int(self._jitted(jnp.float32(0)))


def run(operator: XLACustomKernel, size: int = 1, **options: Any) -> int:
    """The first element of the result on zeros, so which backend ran."""
    x = jnp.zeros(size)
    return int(operator(x, outs=x, **options)[0])


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Have these modules look as if they were not installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def show(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Have these modules look as if they were installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, pytest)
