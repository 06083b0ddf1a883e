"""numba_kernel: outputs whose shapes follow the inputs, static arguments, numbers, arguments by name."""

import enum
import inspect
import sys

import child_python
import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
import wrong_arguments
from jax import export

from ffi_bridge import XLACustomKernel, numba_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.targets import targets


class Mode(enum.Enum):
    ADD = "add"
    MULTIPLY = "multiply"


@numba.njit
def row_times_matrix(x, w, y):
    for j in range(w.shape[1]):
        y[j] = 0
        for i in range(x.size):
            y[j] += x[i] * w[i, j]


@numba.njit
def combine(x, factor, n, y, mode=Mode.ADD):
    for i in range(x.size):
        if mode == Mode.ADD:
            y[i] = factor * x[i] + n
        else:
            y[i] = factor * x[i] * n


def columns(x, w):
    return jax.ShapeDtypeStruct((w.shape[1],), x.dtype)


def like(x, *_, **__):
    return x


follows = numba_kernel(row_times_matrix, columns)
combined = numba_kernel(combine, like, static_argnames=("n", "mode"), scalar_argnames="factor")
X = jnp.arange(3.0)


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 1), (0, 2)])
def test_one_wrapper_serves_every_shape_and_dtype(shape, dtype):
    x, w = jnp.ones(shape[0], dtype), jnp.ones(shape, dtype)
    y = follows(x, w)
    assert (y.shape, y.dtype) == ((shape[1],), dtype)
    np.testing.assert_array_equal(y, x @ w)
    assert jax.eval_shape(follows, x, w) == jax.ShapeDtypeStruct(y.shape, y.dtype)


def test_the_function_of_shapes_sees_no_batch_axes():
    xs, w = jnp.arange(10.0).reshape(5, 2), jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(jax.vmap(follows, (0, None))(xs, w), xs @ w)
    nested = jax.vmap(jax.vmap(follows, (0, None)), (None, 0))
    ws = jnp.stack([w, 2 * w])
    np.testing.assert_allclose(nested(xs, ws), jnp.einsum("bi,wij->wbj", xs, ws))


def test_shapes_follow_under_jit_scan_and_export():
    w = jnp.eye(3) * 2
    np.testing.assert_array_equal(jax.jit(follows)(X, w), 2 * X)
    np.testing.assert_array_equal(jax.lax.scan(lambda x, _: (follows(x, w), None), X, length=3)[0], 8 * X)
    (n,) = export.symbolic_shape("n")
    size = jax.ShapeDtypeStruct((n,), "float32"), jax.ShapeDtypeStruct((n, 2), "float32")
    names = [target for target in targets() if "row_times_matrix" in target]
    checks = [export.DisabledSafetyCheck.custom_call(name) for name in names]
    exported = export.export(jax.jit(follows), disabled_checks=checks)(*size)
    np.testing.assert_array_equal(exported.call(X, jnp.ones((3, 2))), [3, 3])


@pytest.mark.parametrize(
    ("outs", "text"),
    [
        (lambda x, w: 3, "the function .*<lambda>.* returned 3: outs holds 3; expected"),
        (lambda x, w: (), "returned .*: outs is empty"),
        (lambda x: x, r"raised TypeError for \(float32\[3\], float32\[3, 4\]\)"),
        (lambda x, w: w.shape[7], r"raised IndexError for \(float32\[3\], float32\[3, 4\]\): tuple index"),
    ],
)
def test_errors_name_the_function_of_shapes_and_what_it_did(outs, text):
    with pytest.raises(KernelDefinitionError, match=f"kernel 'row_times_matrix': its outs, {text}|{text}"):
        numba_kernel(row_times_matrix, outs)(X, jnp.ones((3, 4)))


def test_aliases_and_methods_are_checked_when_shapes_are_known():
    with pytest.raises(KernelDefinitionError, match="input_output_aliases has 0: 1"):
        numba_kernel(row_times_matrix, columns, input_output_aliases={0: 1})(X, jnp.ones((3, 3)))


@pytest.mark.parametrize("n", [2, 2.5, True, np.int64(3), np.float32(1.5)])
@pytest.mark.parametrize("mode", list(Mode))
def test_static_arguments_are_constants(n, mode):
    number = np.float32(n)
    expected = 2 * X + number if mode is Mode.ADD else 2 * X * number
    np.testing.assert_allclose(combined(X, 2.0, n=n, mode=mode), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: combined(x, 2.0, n=n, mode=mode))(X), expected, rtol=1e-6)


def test_each_value_has_machine_code_of_its_own():
    def compiled():
        return {name for name in targets() if name.startswith("combine.")}

    combined(X, 2.0, n=11)
    before = compiled()
    combined(X, 5.0, n=11)
    assert compiled() == before
    for value in (12, 12.0, 13):
        combined(X, 2.0, n=value)
    assert len(compiled()) == len(before) + 3


@numba.njit
def of_options(x, y, shape, dtype, word, nothing):
    scratch = np.ones(shape, dtype)
    if word == "sum":
        y[...] = x + scratch.sum()
    else:
        y[...] = x
    if nothing is not None:
        y[...] = nothing.no_such_attribute


def test_tuples_dtypes_strings_and_none():
    call = numba_kernel(of_options, like, static_argnames=("shape", "dtype", "word", "nothing"))
    options = {"shape": (2, 3), "dtype": np.dtype("int32"), "nothing": None}
    np.testing.assert_array_equal(call(X, word="sum", **options), X + 6)
    np.testing.assert_array_equal(call(X, word="none", **options), X)


@numba.njit
def one_branch(x, y, mode, n=3, flag=False, word="a"):
    if mode == Mode.ADD:
        y[...] = x + 1
    elif word == "a":
        y[...] = x.no_such_attribute
    if n > 3 or flag:
        y[...] = n.no_such_attribute
    if not flag and word != "b" and n == 3:
        y[0] = 7
    else:
        y[...] = mode.no_such_attribute


def test_only_the_branch_that_a_constant_takes_is_compiled():
    call = numba_kernel(one_branch, like, static_argnames=("mode", "n", "flag", "word"))
    np.testing.assert_array_equal(call(X, mode=Mode.ADD), [7, 2, 3])
    for options in ({"mode": Mode.MULTIPLY}, {"mode": Mode.ADD, "n": 4}, {"mode": Mode.ADD, "word": "b"}):
        with pytest.raises(KernelTypeError, match="no_such_attribute"):
            call(X, **options)


@numba.njit
def repeat_number(a, y):
    for i in range(y.size):
        y[i] = a


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "complex64"])
def test_numbers_of_every_kind(dtype):
    call = numba_kernel(repeat_number, jax.ShapeDtypeStruct((2,), dtype), scalar_argnames=("a",))
    for a in (0, 1):
        np.testing.assert_array_equal(call(jnp.asarray(a, dtype)), np.full(2, a, dtype))
    batch = jax.vmap(call)(jnp.asarray([0, 1, 1], dtype))
    np.testing.assert_array_equal(batch, np.asarray([[0, 0], [1, 1], [1, 1]], dtype))


def test_arguments_by_name():
    expected = 3 * X + 1
    for y in (combined(X, factor=3.0, n=1), combined(factor=3.0, x=X, n=1)):
        np.testing.assert_array_equal(y, expected)
    signature = str(inspect.signature(numba_kernel(combine, X, static_argnames=("n", "mode"))))
    assert signature.startswith("(x, factor, *, n, mode=")
    differentiable = jax.custom_vjp(lambda x: combined(x, 2.0, n=1))
    differentiable.defvjp(lambda x: (combined(x, 2.0, n=1), None), lambda _, ct: (2 * ct,))
    np.testing.assert_array_equal(jax.grad(lambda x: differentiable(x).sum())(X), [2, 2, 2])


@wrong_arguments.each_call
def test_wrong_calls(args, named, text):
    with pytest.raises(KernelTypeError, match=text):
        combined(*args, **named)


@wrong_arguments.each_definition
def test_wrong_definitions(options, text):
    with pytest.raises(KernelDefinitionError, match=text):
        numba_kernel(combine, like, **options)


def test_a_number_cannot_be_written_to():
    call = numba_kernel(repeat_number, jax.ShapeDtypeStruct((2,), "float32"), scalar_argnames="y")
    with pytest.raises(KernelTypeError, match="'y' is in scalar_argnames, and the kernel writes to it"):
        call(1.0)


def test_lists_and_traced_values_are_no_constants():
    with pytest.raises(ValueError, match="Non-hashable static argument"):
        combined(X, 2.0, n=[1])
    with pytest.raises(
        KernelTypeError, match=r"'combine': 'n' is in static_argnames, .* traced value; .* jax"
    ):
        jax.jit(lambda n: combined(X, 2.0, n=n))(3)


PROGRAM = """
import sys, jax, jax.numpy as jnp, numba
from ffi_bridge import numba_kernel
from ffi_bridge.numba_cpu import compile
from test_numba_arguments import combine, like
compiled = []
inner = compile.compile_handler
compile.compile_handler = lambda *args, **named: compiled.append(args) or inner(*args, **named)
call = numba_kernel(combine, like, static_argnames=("n", "mode"), scalar_argnames="factor")
print(call(jnp.arange(3.0), 2.0, n=int(sys.argv[1])).tolist(), len(compiled))
"""


@pytest.mark.slow
def test_another_process_finds_the_code_of_a_constant(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    monkeypatch.syspath_prepend("")

    def output(n):
        path = [p for p in sys.path if p]
        program = f"import sys; sys.path[:0] = {path!r}\n{PROGRAM}"
        return child_python.output("-c", program, n, new=True).split("\n")[0]

    assert output(4) == "[4.0, 6.0, 8.0] 1"
    assert output(4) == "[4.0, 6.0, 8.0] 0"


def test_an_operator_takes_such_kernels():
    operator = XLACustomKernel("numba_arguments_row_times_matrix")
    operator.def_numba_kernel(lambda **_: follows)
    w = jnp.ones((3, 2))
    np.testing.assert_array_equal(operator(X, w, outs=columns(X, w)), [3, 3])
