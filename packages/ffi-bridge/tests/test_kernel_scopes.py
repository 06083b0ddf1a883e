"""`use_backend`: which calls a scope reaches, and which it leaves alone."""

import threading

import jax
import jax.numpy as jnp
import pytest
from small_operators import Traced, adds

from ffi_bridge.errors import UnknownBackendError, UnknownOperatorError
from ffi_bridge.operators.kernel import XLACustomKernel, use_backend

X = jnp.float32(0)
OUT = jax.ShapeDtypeStruct((), jnp.float32)
CPU_ONLY = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="says what happens where JAX sees no GPU"
)
pytestmark = CPU_ONLY


def test_a_scope_wins_over_the_default_and_loses_to_the_keyword(pair: XLACustomKernel) -> None:
    pair.set_default("cpu", "one")
    with use_backend("two"):
        assert pair(X, outs=OUT) == 2
        assert pair(X, outs=OUT, backend="one") == 1
    assert pair(X, outs=OUT) == 1


def test_jitted_functions_are_sensitive_to_the_scope(pair: XLACustomKernel) -> None:
    jitted = Traced(pair)
    assert jitted() == 1
    for _ in range(2):
        with use_backend("two"):
            assert jitted() == 2
        assert jitted() == 1
    assert jitted.count == 2


def test_scopes_nest_and_the_innermost_that_applies_wins(pair: XLACustomKernel, name: str) -> None:
    other = XLACustomKernel(name + "_other")
    other.def_kernel("one", "cpu", adds(10))
    other.def_kernel("two", "cpu", adds(20))
    with use_backend("two"), use_backend("one", other):
        assert (pair(X, outs=OUT), other(X, outs=OUT)) == (2, 10)
        with use_backend("two", other.name):
            assert other(X, outs=OUT) == 20


def test_a_scope_skips_operators_without_the_backend(pair: XLACustomKernel, name: str) -> None:
    other = XLACustomKernel(name + "_other")
    other.def_kernel("three", "cpu", adds(3))
    with use_backend("two"):
        assert other(X, outs=OUT) == 3


def test_a_scope_ends_with_its_block_also_after_an_error(pair: XLACustomKernel) -> None:
    with pytest.raises(ZeroDivisionError), use_backend("two"):
        _ = 1 // 0
    assert pair(X, outs=OUT) == 1


def test_a_scope_is_seen_by_its_own_thread_only(pair: XLACustomKernel) -> None:
    seen: list[float] = []
    with use_backend("two"):
        thread = threading.Thread(target=lambda: seen.append(float(pair(X, outs=OUT))))
        thread.start()
        thread.join()
    assert seen == [1.0]


def test_a_scope_reaches_rules_and_their_gradients(name: str) -> None:
    ran: list[str] = []
    operator = XLACustomKernel(name)
    for backend in ("one", "two"):
        operator.def_kernel(backend, "cpu", lambda _b=backend, **_: lambda x: (ran.append(_b), 2 * x)[1])
    operator.def_jvp_rule2(lambda t, x, **params: operator(t, **params))
    operator.def_transpose_rule(lambda ct, x, **params: [operator(ct, **params)])
    with use_backend("two"):
        _, pullback = jax.vjp(lambda x: operator(x, outs=OUT), X)
    assert pullback(X)[0] == 0
    assert set(ran) == {"two"}


def test_unknown_names_in_a_scope_list_what_exists(pair: XLACustomKernel) -> None:
    with pytest.raises(UnknownBackendError, match=r"'nobody has this'.*one.*two"):
        use_backend("nobody has this").__enter__()
    with pytest.raises(UnknownOperatorError, match=f"'no such operator'.*{pair.name}"):
        use_backend("one", "no such operator").__enter__()
