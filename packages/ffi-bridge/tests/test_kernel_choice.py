"""Which backend runs: preference, fallback, explain, defaults, scopes, and jit's caches."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError, UnknownOperatorError
from ffi_bridge.kernel import XLACustomKernel
from ffi_bridge.selection import use_backend

X = jnp.float32(0)
OUT = jax.ShapeDtypeStruct((), jnp.float32)
CPU_ONLY = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="says what happens where JAX sees no GPU"
)
pytestmark = CPU_ONLY


def adds(value: float) -> Callable[..., Any]:
    return lambda **_: lambda x: x + value


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return request.node.name


@pytest.fixture
def pair(name: str) -> XLACustomKernel:
    """Two backends whose results tell them apart: "one" is the first in the order of preference."""
    operator = XLACustomKernel(name)
    operator.def_kernel("one", "cpu", adds(1))
    operator.def_kernel("two", "cpu", adds(2))
    return operator


class Traced:
    """`jax.jit(x -> operator(x))` that counts how often it is traced."""

    def __init__(self, operator: XLACustomKernel) -> None:
        self.count = 0
        self._operator = operator
        self._jitted = jax.jit(self._body)

    def _body(self, x: jax.Array) -> jax.Array:
        self.count += 1
        return self._operator(x, outs=OUT)

    def __call__(self) -> int:
        return int(self._jitted(X))


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Have these modules look as if they were not installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def show(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Have these modules look as if they were installed."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, pytest)


def module_file(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> str:
    (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))
    return f"{name}:generator"


# Preference and fallback


@pytest.fixture
def full(name: str) -> XLACustomKernel:
    """Everything registered against the order of preference."""
    operator = XLACustomKernel(name)
    operator.def_reference(adds(1))
    operator.def_warp_kernel(adds(2))
    operator.def_numba_kernel(adds(3))
    operator.def_kernel("mine", "cpu", adds(4))
    return operator


@pytest.mark.parametrize(
    ("hidden", "order"),
    [
        ((), ["numba_cpu", "warp", "reference", "mine"]),
        (("numba",), ["warp", "reference", "mine"]),
        (("warp",), ["numba_cpu", "reference", "mine"]),
        (("numba", "warp"), ["reference", "mine"]),
    ],
    ids=["all", "no numba", "no warp", "neither"],
)
def test_what_is_not_installed_is_skipped_in_order_of_preference(
    full: XLACustomKernel, monkeypatch: pytest.MonkeyPatch, hidden: Any, order: list[str]
) -> None:
    show(monkeypatch, "numba", "warp")
    hide(monkeypatch, *hidden)
    assert full.available_backends("cpu") == order
    results = {"reference": 1, "warp": 2, "numba_cpu": 3}
    assert full(X, outs=OUT) == results[order[0]]
    assert full.explain(X, outs=OUT).backend == order[0]


def test_explain_says_why_each_other_backend_does_not_run(
    full: XLACustomKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    full.def_numba_cuda_kernel(adds(5))
    show(monkeypatch, "warp")
    hide(monkeypatch, "numba")
    explanation = full.explain(X)
    others = dict(explanation.others)
    assert (explanation.platform, explanation.backend) == ("cpu", "warp")
    assert others["numba_cpu"] == 'numba is not installed; pip install "event-ops[numba]"'
    assert "warp is the first" in others["reference"]
    assert others["numba_cuda"] == "registered for gpu only"
    text = str(explanation)
    assert f"{full.name} on cpu: warp" in text
    assert all(f"not {other}: {reason}" in text for other, reason in others.items())


def test_explain_of_a_platform_without_device_says_so(full: XLACustomKernel) -> None:
    assert "JAX sees no tpu" in full.explain(platform="tpu").why
    assert full.explain(platform="tpu").backend == "reference"


def test_explain_follows_scope_default_and_keyword(pair: XLACustomKernel) -> None:
    assert pair.explain().backend == "one"
    assert pair.explain(backend="two").why == "asked for by name"
    with use_backend("two"):
        assert pair.explain().backend == "two"
        assert pair.explain(backend="one").backend == "one"
    pair.set_default("cpu", "two")
    assert (pair.explain().backend, pair.explain().why) == ("two", "the default")


@pytest.mark.parametrize("ask", ["keyword", "scope"])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_named_backend_that_cannot_run_raises_with_the_reason(
    full: XLACustomKernel, monkeypatch: pytest.MonkeyPatch, ask: str, transform: Any
) -> None:
    show(monkeypatch, "warp")
    hide(monkeypatch, "numba")
    expected = r"'numba_cpu'.*pip install.*can run on cpu: reference, warp, mine"
    if ask == "keyword":
        with pytest.raises(BackendUnavailableError, match=expected):
            transform(lambda x: full(x, outs=OUT, backend="numba_cpu"))(X)
    else:
        with (
            use_backend("numba_cpu", full),
            pytest.raises(BackendUnavailableError, match=expected),
        ):
            transform(lambda x: full(x, outs=OUT))(X)


def test_a_named_backend_of_another_platform_raises_with_the_reason(full: XLACustomKernel) -> None:
    full.def_numba_cuda_kernel(adds(5))
    expected = "registered for gpu, and this call runs on cpu; JAX sees no gpu"
    with pytest.raises(BackendUnavailableError, match=expected):
        full(X, outs=OUT, backend="numba_cuda")


def test_an_unknown_backend_lists_what_exists(pair: XLACustomKernel) -> None:
    for action in (
        lambda: pair(X, outs=OUT, backend="three"),
        lambda: pair.set_default("cpu", "three"),
        lambda: pair.set_default("gpu", "one"),
        lambda: pair.explain(backend="three"),
        lambda: use_backend("three", pair).__enter__(),
    ):
        with pytest.raises(UnknownBackendError, match="cpu: one, two"):
            action()


def test_nothing_that_can_run_lists_every_reason(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = XLACustomKernel(name)
    operator.def_numba_kernel(adds(1))
    operator.def_warp_kernel(adds(2))
    hide(monkeypatch, "numba", "warp")
    with pytest.raises(BackendUnavailableError, match=r"numba_cpu: numba is not.*warp: warp is"):
        operator(X, outs=OUT)


def test_a_backend_named_by_a_string_is_imported_at_first_use(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "generator = lambda **_: lambda x: x + 7\n"
    operator = XLACustomKernel(name)
    operator.def_kernel("text", "cpu", module_file(tmp_path, monkeypatch, "choice_lazy", code))
    assert "choice_lazy" not in sys.modules
    assert operator(X, outs=OUT) == 7
    assert sys.modules.pop("choice_lazy")


def test_a_module_that_needs_a_missing_package_is_skipped_with_the_reason(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide(monkeypatch, "warp")
    operator = XLACustomKernel(name)
    operator.def_kernel(
        "mine", "cpu", module_file(tmp_path, monkeypatch, "choice_needs_warp", "import warp\n")
    )
    operator.def_kernel("other", "cpu", adds(1))
    assert operator(X, outs=OUT) == 1
    assert "event-ops[warp]" in dict(operator.explain().others)["mine"]


def test_a_backend_is_skipped_for_dtypes_that_it_lacks(name: str) -> None:
    operator = XLACustomKernel(name)
    operator.def_kernel("mine", "cpu", adds(1), asdefault=True, lacks=["int8"])
    operator.def_reference(adds(2))
    assert operator(X, outs=OUT) == 1
    assert operator(jnp.zeros((), jnp.int8), outs=jax.ShapeDtypeStruct((), jnp.int8)) == 2


def test_warp_is_skipped_for_complex_numbers_which_it_lacks(name: str) -> None:
    pytest.importorskip("warp", reason="warp-lang is not installed")
    operator = XLACustomKernel(name)
    operator.def_warp_kernel(adds(1))
    operator.def_reference(adds(2))
    z = jnp.zeros((), jnp.complex64)
    assert operator(X, outs=OUT) == 1
    assert operator(z, outs=jax.ShapeDtypeStruct((), jnp.complex64)) == 2
    with pytest.raises(BackendUnavailableError, match="warp has no complex64"):
        operator(z, outs=jax.ShapeDtypeStruct((), jnp.complex64), backend="warp")


@pytest.mark.parametrize(
    ("code", "error"),
    [("import no_such_module\n", ModuleNotFoundError), ("1 / 0\n", ZeroDivisionError)],
)
def test_a_module_with_a_defect_is_not_skipped(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, error: Any
) -> None:
    operator = XLACustomKernel(name)
    operator.def_kernel("mine", "cpu", module_file(tmp_path, monkeypatch, "choice_broken", code))
    operator.def_reference(adds(1))
    operator.set_default("cpu", "mine")
    with pytest.raises(error):
        operator(X, outs=OUT)


def test_lowering_for_a_platform_chooses_for_that_platform_only(name: str) -> None:
    operator = XLACustomKernel(name)
    operator.def_kernel("here", "cpu", adds(1))

    def unwanted(**_: Any) -> Any:
        raise AssertionError("generated for a platform that was not asked for")

    operator.def_kernel("there", "gpu", unwanted)
    operator.def_kernel("there", "tpu", adds(2))
    assert operator(X, outs=OUT) == 1
    assert jax.jit(lambda x: operator(x, outs=OUT))(X) == 1
    exported = jax.export.export(jax.jit(lambda x: operator(x, outs=OUT)), platforms=["tpu"])(X)
    assert "2.0" in exported.mlir_module()


# Defaults


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


# Scopes


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
