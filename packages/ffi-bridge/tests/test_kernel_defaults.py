"""Defaults of an operator: when they take effect, and what they cost in jit's caches."""

import threading

import jax
import jax.numpy as jnp
import pytest
from small_operators import Traced, adds, hide, show

from ffi_bridge.operators.kernel import XLACustomKernel, use_backend

X = jnp.float32(0)
OUT = jax.ShapeDtypeStruct((), jnp.float32)
CPU_ONLY = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="says what happens where JAX sees no GPU"
)
pytestmark = CPU_ONLY


def test_a_default_takes_effect_in_jitted_functions_and_back_costs_no_trace(
    pair: XLACustomKernel,
) -> None:
    jitted = Traced(pair)
    assert (jitted(), pair(X, outs=OUT)) == (1, 1)
    pair.set_default("cpu", "two")
    assert pair.defaults["cpu"] == "two"
    assert (jitted(), pair(X, outs=OUT), jitted.count) == (2, 2, 2)
    pair.set_default("cpu", "one")
    assert (jitted(), pair(X, outs=OUT), jitted.count) == (1, 1, 2)
    pair.set_default("cpu", "two")
    assert (jitted(), pair(X, outs=OUT), jitted.count) == (2, 2, 2)
    pair.set_default("cpu", None)
    assert (jitted(), pair.defaults["cpu"], jitted.count) == (1, "one", 2)


def test_a_default_reaches_loops_and_inner_jits(pair: XLACustomKernel) -> None:
    inner = jax.jit(lambda x: pair(x, outs=OUT))
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: inner(c), x))
    assert loop(X) == 3
    pair.set_default("cpu", "two")
    assert loop(X) == 6
    pair.set_default("cpu", "one")
    assert loop(X) == 3


def test_a_default_clears_no_cache_of_other_functions(pair: XLACustomKernel, name: str) -> None:
    other = XLACustomKernel(name + "_other")
    other.def_reference(adds(5))
    jitted = Traced(other)
    for default, traces in [(None, 1), ("two", 2), (None, 2), ("two", 2), (None, 2)]:
        pair.set_default("cpu", default)
        assert (jitted(), jitted.count) == (5, traces)


def test_a_default_set_elsewhere_takes_effect_in_every_thread(pair: XLACustomKernel) -> None:
    jitted = Traced(pair)
    assert jitted() == 1
    thread = threading.Thread(target=pair.set_default, args=("cpu", "two"))
    thread.start()
    thread.join()
    assert jitted() == 2


def test_a_default_works_within_a_scope_for_another_operator(pair: XLACustomKernel, name: str) -> None:
    other = XLACustomKernel(name + "_other")
    other.def_kernel("one", "cpu", adds(1))
    with use_backend("one", other):
        pair.set_default("cpu", "two")
        assert pair(X, outs=OUT) == 2
    assert pair(X, outs=OUT) == 2


def test_asdefault_before_the_first_call_leaves_every_cache_alone(pair: XLACustomKernel, name: str) -> None:
    jitted = Traced(pair)
    assert jitted() == 1
    fresh = XLACustomKernel(name + "_fresh")
    fresh.def_kernel("a", "cpu", adds(3))
    fresh.def_kernel("b", "cpu", adds(4), asdefault=True)
    assert fresh(X, outs=OUT) == 4
    assert (jitted(), jitted.count) == (1, 1)


@pytest.mark.parametrize("asdefault", [True, False])
def test_a_definition_after_the_first_call_takes_effect(pair: XLACustomKernel, asdefault: bool) -> None:
    jitted = Traced(pair)
    assert jitted() == 1
    pair.def_kernel("three" if asdefault else "reference", "cpu", adds(3), asdefault=asdefault)
    assert (jitted(), jitted.count) == (3, 2)


def test_a_default_that_is_not_installed_is_skipped(
    full: XLACustomKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, "numba")
    hide(monkeypatch, "warp")
    full.set_default("cpu", "warp")
    assert full(X, outs=OUT) == 3
