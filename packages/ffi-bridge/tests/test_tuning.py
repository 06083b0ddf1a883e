"""Tuning tables: which row decides, what goes before it, and what `explain` shows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_operators import Write, adds, hide, run

from ffi_bridge.operators.kernel import XLACustomKernel, use_backend

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="the tables of these tests are those of a CPU"
)


def test_the_row_is_taken_by_the_elements_of_inputs_and_outputs(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}, {"above": 12, "up_to": 14}, {"above": 20, "up_to": None}))
    assert [run(pair, size) for size in (1, 4, 5, 6, 7, 8, 10, 11)] == [2, 2, 1, 1, 2, 1, 1, 2]


def test_a_row_holds_under_jit_and_counts_the_batch(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}))
    f = jax.jit(lambda x: pair(x, outs=x))
    assert (f(jnp.zeros(4))[0], f(jnp.zeros(5))[0]) == (2, 1)
    rows = jax.vmap(lambda x: pair(x, outs=x))
    assert (rows(jnp.zeros((2, 2)))[0, 0], rows(jnp.zeros((2, 3)))[0, 0]) == (2, 1)


def test_a_row_is_about_its_dtypes_and_its_plain_static_arguments(
    pair: XLACustomKernel, write: Write
) -> None:
    pair.def_tuning(write({"flags": ["exact=True", "mode=drop"]}))
    assert run(pair, mode="drop", exact=True) == 2
    assert run(pair, mode="drop", exact=True, count=3) == 2
    assert [run(pair), run(pair, exact=True), run(pair, mode="clip", exact=True)] == [1, 1, 1]
    x = jnp.zeros(1, jnp.int32)
    assert pair(x, outs=x, mode="drop", exact=True) == 1


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({}, "tuned: up to 8 elements, 1.8 x as fast as one, measured on cpu"),
        (
            {"up_to": None, "ratio": 30},
            "tuned: any number of elements, 30.0 x as fast as one, measured on cpu",
        ),
        ({"above": 1}, "tuned: 2 to 8 elements, 1.8 x as fast as one, measured on cpu"),
        ({"above": 1, "up_to": None}, "tuned: above 1 elements, 1.8 x as fast as one, measured on cpu"),
    ],
)
def test_explain_shows_the_row(pair: XLACustomKernel, write: Write, row: dict[str, Any], text: str) -> None:
    pair.def_tuning(write(row))
    x = np.zeros(2)  # float64, which JAX takes as float32
    found = pair.explain(x, outs=jax.ShapeDtypeStruct((2,), jnp.float32))
    assert (found.backend, found.why) == ("two", text)
    assert dict(found.others)["one"] == f"two is {text}"
    assert pair.explain(jax.ShapeDtypeStruct((2,), jnp.float32), outs=jnp.zeros(2)).why == text
    assert pair.explain().backend == pair.defaults["cpu"] == "one"


def test_keyword_scope_and_set_default_go_before_the_table(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}))
    assert run(pair, backend="one") == 1
    with use_backend("one"):
        assert run(pair) == 1
        assert pair.explain(jnp.zeros(1), outs=jnp.zeros(1)).why == "asked for by name"
    pair.set_default("cpu", "one")
    assert run(pair) == 1
    assert pair.explain(jnp.zeros(1), outs=jnp.zeros(1)).why == "the default"
    pair.set_default("cpu", None)
    assert run(pair) == 2


def test_the_table_goes_before_the_default_of_the_definition(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}))
    pair.def_kernel("three", "cpu", adds(3), asdefault=True)
    assert (run(pair), run(pair, 9)) == (2, 3)


def test_a_table_declared_after_the_first_call_takes_effect(pair: XLACustomKernel, write: Write) -> None:
    f = jax.jit(lambda x: pair(x, outs=x))
    assert f(jnp.zeros(1)) == 1
    pair.def_tuning(write({}))
    assert f(jnp.zeros(1)) == 2
    pair.def_tuning(None)
    assert f(jnp.zeros(1)) == 1


def test_a_table_is_read_once(pair: XLACustomKernel, write: Write) -> None:
    folder = write({})
    pair.def_tuning(folder)
    assert run(pair) == 2
    write()
    assert run(pair, 2) == 2


def test_a_backend_that_cannot_run_is_skipped(
    full: XLACustomKernel, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, "warp", "numba")
    full.def_tuning(write({"backend": "warp"}))
    assert run(full) == 1
    found = full.explain(jnp.zeros(1), outs=jnp.zeros(1))
    assert found.backend == "reference" and "tuned" not in str(found)
    assert dict(found.others)["warp"].startswith("warp is not installed")


def test_a_backend_that_lacks_what_the_call_needs_is_skipped(pair: XLACustomKernel, write: Write) -> None:
    pair.def_kernel("two", "cpu", adds(2), lacks=["float32"])
    pair.def_tuning(write({}))
    assert run(pair) == 1


@pytest.mark.parametrize("row", [{"operator": "no_such"}, {"backend": "no_such"}, {"platform": "no_such"}])
def test_rows_about_what_is_not_there_say_nothing(
    pair: XLACustomKernel, write: Write, row: dict[str, Any]
) -> None:
    pair.def_tuning(write(row))
    assert run(pair) == 1


def test_a_symbolic_size_has_no_row(pair: XLACustomKernel, write: Write) -> None:
    pytest.importorskip("flatbuffers", reason="jax.export serialises with flatbuffers")
    pair.def_tuning(write({"up_to": None}))
    shape = jax.export.symbolic_shape("n")
    f = jax.jit(lambda x: pair(x, outs=jax.ShapeDtypeStruct(x.shape, x.dtype)))
    exported = jax.export.export(f)(jax.ShapeDtypeStruct(shape, jnp.float32))
    assert exported.call(jnp.zeros(3))[0] == 1 and f(jnp.zeros(3))[0] == 2


def test_a_platform_without_a_device_here_has_no_table(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({"platform": "tpu"}))
    pair.def_kernel("one", "tpu", adds(1))
    pair.def_kernel("two", "tpu", adds(2))
    x = jnp.zeros(1)
    assert pair.explain(x, outs=x, platform="tpu").backend == "one"
