"""XLACustomKernel: calls, structures of outs, static arguments, and errors that say what to do."""

import re
import threading
from typing import Any

import child_python
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_operators import broken

from ffi_bridge.errors import (
    BackendUnavailableError,
    KernelDefinitionError,
    StaticArgumentError,
)
from ffi_bridge.operators.kernel import XLACustomKernel

X = jnp.arange(3.0)
OUT = jax.ShapeDtypeStruct((3,), jnp.float32)


@pytest.mark.parametrize(
    "outs",
    [OUT, [OUT], (OUT, OUT), {"b": OUT, "a": [OUT]}],
    ids=["struct", "list", "tuple", "dict"],
)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_result_has_the_structure_of_outs(operator: XLACustomKernel, outs: Any, transform: Any) -> None:
    result = transform(lambda x: operator(x, outs=outs))(X)
    assert jax.tree.structure(result) == jax.tree.structure(outs)
    for leaf in jax.tree.leaves(result):
        np.testing.assert_array_equal(leaf, 2 * X)


def test_arrays_serve_as_outs(operator: XLACustomKernel) -> None:
    np.testing.assert_array_equal(operator(X, outs=X), 2 * X)


def test_numpy_and_python_inputs(operator: XLACustomKernel) -> None:
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    np.testing.assert_array_equal(operator(np.float32([1, 2, 3]), outs=OUT), [2, 4, 6])
    assert operator(1.5, outs=scalar) == 3.0


def numbers_of_four_dtypes() -> list[Any]:
    tokens = [
        np.float32(0.5),
        np.int32(-3),
        np.array(True),
        np.float32(-0.0),
        np.uint32(7),
        np.int32(2**31 - 1),
    ]
    return [tokens[0], X, *tokens[1:4], X + 1, *tokens[4:], 2.5, np.array(np.nan, np.float32)]


def test_numbers_of_numpy_arrive_where_they_were_given(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda *ins: ins)
    ins = numbers_of_four_dtypes()
    outs = [jax.ShapeDtypeStruct(jnp.shape(x), jnp.asarray(x).dtype) for x in ins]
    for y, x in zip(operator(*ins, outs=outs), ins, strict=True):
        assert np.asarray(y).tobytes() == np.asarray(x, y.dtype).tobytes()
    changed = operator(np.float32(4), *ins[1:], outs=outs)
    assert changed[0] == 4 and changed[4] == -0.0


def test_numbers_of_numpy_in_a_function_that_is_traced(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda **_: lambda x, a, b: a * x + b)
    a, b = np.float32(2), np.array(1, np.float32)
    assert jax.jit(lambda x: operator(x, a, b, outs=OUT))(X).tolist() == [1, 3, 5]
    assert jax.jit(lambda: operator(X, a, b, outs=OUT))().tolist() == [1, 3, 5]
    assert jax.grad(lambda x: operator(x, a, b, outs=OUT).sum())(X).tolist() == [2, 2, 2]
    with jax.disable_jit():
        assert operator(X, a, b, outs=OUT).tolist() == [1, 3, 5]


def test_generator_gets_outs_as_given_and_the_static_arguments(request: Any) -> None:
    seen: list[Any] = []
    operator = XLACustomKernel(request.node.name)

    @operator.def_reference
    def build(**kwargs: Any) -> Any:
        seen.append(kwargs)
        return lambda x: x

    operator(X, outs=[OUT], shape=(3, 4), transpose=False)
    assert seen == [{"outs": [OUT], "shape": (3, 4), "transpose": False}]


def test_equal_static_arguments_of_other_types_are_not_mixed_up(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_reference(lambda outs, n: lambda x: x + float(isinstance(n, bool)))

    def call(x: Any) -> list[Any]:
        return [operator(x, outs=OUT, n=n)[0] for n in (1, True, 1.0)]

    assert call(X) == [0, 1, 0]
    assert jax.jit(call)(X) == [0, 1, 0]  # one program, in which lowerings are shared


def test_a_call_inside_jit_is_one_equation(operator: XLACustomKernel) -> None:
    jaxpr = jax.make_jaxpr(lambda x: operator(x, outs=OUT) + X)(X)
    names = [equation.primitive.name for equation in jaxpr.jaxpr.eqns]
    assert names == [operator.name, "add"]


def test_a_call_on_constants_inside_jit(operator: XLACustomKernel) -> None:
    result = jax.jit(lambda x: operator(X, outs=OUT) + x)(X)
    np.testing.assert_array_equal(result, 3 * X)


def test_eager_calls_compile_once(request: Any) -> None:
    generated: list[int] = []
    operator = XLACustomKernel(request.node.name)

    @operator.def_reference
    def build(**_: Any) -> Any:
        generated.append(1)
        return lambda x: x

    for _ in range(3):
        operator(X, outs=OUT)
        operator(X, outs=jax.ShapeDtypeStruct((3,), jnp.float32))
    assert len(generated) == 1


def test_backends_by_platform_as_the_tutorials_read_them(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    operator.def_warp_kernel("some.module:warp")
    operator.def_numba_kernel("some.module:numba")
    operator.def_numba_cuda_kernel("some.module:cuda")
    operator.def_pallas_kernel("tpu", "some.module:pallas")
    operator.def_triton_kernel("some.module:triton")
    registered = {platform: list(names) for platform, names in operator.backends.items()}
    assert registered == {
        "gpu": ["warp", "numba_cuda", "triton"],
        "cpu": ["warp", "numba_cpu"],
        "tpu": ["pallas"],
    }
    assert operator.defaults == {"gpu": "numba_cuda", "cpu": "numba_cpu", "tpu": "pallas"}


# Static arguments


def test_a_traced_keyword_is_refused_by_name(operator: XLACustomKernel) -> None:
    with pytest.raises(StaticArgumentError, match=r"'factor' is a traced.*static_argnames="):
        jax.jit(lambda x, a: operator(x, outs=OUT, factor=a))(X, 2.0)


def test_a_traced_part_of_a_keyword_is_refused_by_name(operator: XLACustomKernel) -> None:
    with pytest.raises(StaticArgumentError, match=r"'factor' is a traced"):
        jax.jit(lambda x, a: operator(x, outs=OUT, factor=(1, a)))(X, 2.0)


@pytest.mark.parametrize(
    ("value", "hint"),
    [([1, 2], "use a tuple"), (np.ones(2), "pass it as an input"), (X, "pass it as an input")],
    ids=["list", "numpy", "jax"],
)
def test_an_unhashable_keyword_is_refused_by_name(operator: XLACustomKernel, value: Any, hint: str) -> None:
    with pytest.raises(StaticArgumentError, match=f"'factor'.*not hashable.*{hint}"):
        operator(X, outs=OUT, factor=value)


# Outputs


@pytest.mark.parametrize(
    ("result", "given"),
    [
        ((X, X), "float32[3], float32[3]"),
        (None, "nothing"),
        (jnp.ones(4), "float32[4]"),
        (jnp.ones(3, jnp.int32), "int32[3]"),
    ],
    ids=["too many", "none", "shape", "dtype"],
)
def test_outputs_other_than_outs_are_refused(request: Any, result: Any, given: str) -> None:
    operator = broken(request.node.name, result)
    expected = re.escape(f"backend 'wrong' returned {given}; outs say float32[3]")
    with pytest.raises(KernelDefinitionError, match=expected):
        operator(X, outs=OUT)


@pytest.mark.parametrize("result", [X, (X,), [X]], ids=["array", "tuple", "list"])
def test_one_output_may_come_bare_or_in_a_sequence(request: Any, result: Any) -> None:
    operator = broken(request.node.name, result)
    np.testing.assert_array_equal(operator(X, outs=OUT), X)
    np.testing.assert_array_equal(operator(X, outs=[OUT])[0], X)


@pytest.mark.parametrize("outs", [[], 3, None], ids=["empty", "number", "None"])
def test_outs_without_shape_and_dtype_are_refused(operator: XLACustomKernel, outs: Any) -> None:
    with pytest.raises(KernelDefinitionError, match="outs"):
        operator(X, outs=outs)


def test_64_bit_outs_follow_the_x64_flag(operator: XLACustomKernel) -> None:
    wide = jax.ShapeDtypeStruct((3,), np.float64)
    with jax.enable_x64(True):
        assert operator(jnp.arange(3, dtype="float64"), outs=wide).dtype == np.float64
    with pytest.raises(KernelDefinitionError, match="jax_enable_x64"):
        operator(X, outs=wide)


# Concurrency and imports


def test_definition_and_first_call_from_many_threads(request: Any) -> None:
    name, count = request.node.name, 8
    barrier = threading.Barrier(count)
    shared = XLACustomKernel(name)
    results: dict[int, Any] = {}

    def work(i: int) -> None:
        barrier.wait(30)
        shared.def_kernel(f"b{i}", "cpu", lambda **_: lambda x: x + 1)
        own = XLACustomKernel(f"{name}_{i}")
        own.def_reference(lambda **_: lambda x: x + i)
        barrier.wait(30)
        results[i] = shared(X, outs=OUT), own(X, outs=OUT), jax.jit(lambda x: own(x, outs=OUT))(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == list(range(count))
    assert sorted(shared.backends["cpu"]) == [f"b{i}" for i in range(count)]
    for i, (first, eager, jitted) in results.items():
        np.testing.assert_array_equal(first, X + 1)
        np.testing.assert_array_equal(eager, X + i)
        np.testing.assert_array_equal(jitted, X + i)


def test_no_backend_at_all_says_what_to_define(request: Any) -> None:
    operator = XLACustomKernel(request.node.name)
    with pytest.raises(BackendUnavailableError, match=r"Registered: none.*def_reference"):
        operator(X, outs=OUT)


def test_importing_the_class_loads_no_toolchain() -> None:
    code = (
        "import sys, ffi_bridge; print({'numba', 'llvmlite', 'warp', 'ffi_bridge.emulated'} & {*sys.modules})"
    )
    assert child_python.output("-c", code, new=True).strip() == "set()"
