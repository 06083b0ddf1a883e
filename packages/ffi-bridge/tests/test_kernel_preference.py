"""Which backend runs by order of preference, what is skipped and why, and what `explain` says."""

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from small_operators import adds, hide, show

from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError
from ffi_bridge.operators.kernel import XLACustomKernel, use_backend

X = jnp.float32(0)
OUT = jax.ShapeDtypeStruct((), jnp.float32)
CPU_ONLY = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="says what happens where JAX sees no GPU"
)
pytestmark = CPU_ONLY


def module_file(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> str:
    (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))
    return f"{name}:build"


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
    assert others["numba_cpu"] == 'numba is not installed; pip install "ffi-bridge[numba]"'
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
    code = "build = lambda **_: lambda x: x + 7\n"
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
    assert "ffi-bridge[warp]" in dict(operator.explain().others)["mine"]


def test_a_backend_is_skipped_for_dtypes_that_it_lacks(name: str) -> None:
    operator = XLACustomKernel(name)
    operator.def_kernel("mine", "cpu", adds(1), asdefault=True, lacks=["int8"])
    operator.def_reference(adds(2))
    assert operator(X, outs=OUT) == 1
    assert operator(jnp.zeros((), jnp.int8), outs=jax.ShapeDtypeStruct((), jnp.int8)) == 2


def test_a_backend_is_skipped_for_static_arguments_that_it_lacks(name: str) -> None:
    operator = XLACustomKernel(name)
    operator.def_kernel("mine", "cpu", adds(1), asdefault=True, lacks=["exact=True"])
    operator.def_reference(adds(2))
    assert operator(X, outs=OUT, exact=False) == 1
    assert operator(X, outs=OUT, exact=True) == 2
    assert "mine has no exact=True" in str(operator.explain(X, outs=OUT, exact=True))
    with pytest.raises(BackendUnavailableError, match="mine has no exact=True"):
        operator(X, outs=OUT, exact=True, backend="mine")


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
