"""Errors of numba_kernel come at the right time and name kernel and argument."""

from collections import OrderedDict

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError
from ffi_bridge.numba_cpu import error_messages

OUT = jax.ShapeDtypeStruct((3,), jnp.float32)


@numba.njit
def copy(x, out):
    for i in range(out.size):
        out[i] = x[i]


@numba.njit
def writes_input(x, y, out):
    y[0] = 1
    out[0] = x[0]


@numba.njit
def typo(x, out):
    out[0] = x.lenght


@numba.njit
def imports(x, out):
    import math

    out[0] = math.exp(x[0])


@numba.njit
def prints(x):
    with numba.objmode():
        print(x)


@numba.njit
def calls_python(x, out):
    prints(x)
    out[0] = x[0]


@numba.njit
def returns(x, out):
    return x[0]


@numba.njit
def returns_its_output(x, out):
    out[:] = x
    return out


def counts(n, out):
    for i in range(n):
        out[i] = 1


def counts_as_long(n, out):
    i = 0
    while i < min(n, 3):
        i += 1
        out[i] = 1


def adds_up(n, out):
    total = 0.0
    total += n
    out[:] = total


def converts(n, out):
    out[:] = float(n)


def slices(n, out):
    out[:n] = 1


@numba.njit
def star(*arrays):
    arrays[-1][0] = 1


@numba.jit(forceobj=True)
def object_mode(x, out):
    out[0] = x[0]


class TestAtWrapTime:
    @pytest.mark.parametrize("kernel", [lambda x, out: None, None, 3, numba.vectorize(lambda x: x)])
    def test_not_a_dispatcher(self, kernel):
        with pytest.raises(TypeError, match=r"@numba\.njit"):
            numba_kernel(kernel, OUT)

    def test_object_mode(self):
        with pytest.raises(TypeError, match="object-mode"):
            numba_kernel(object_mode, OUT)

    @pytest.mark.parametrize("outs", [None, [], (), {}])
    def test_no_outputs(self, outs):
        with pytest.raises(KernelDefinitionError, match="outs is empty"):
            numba_kernel(copy, outs)

    def test_outs_without_shape(self):
        with pytest.raises(KernelDefinitionError, match="ShapeDtypeStruct"):
            numba_kernel(copy, [(3,)])

    @pytest.mark.parametrize("wrap", [lambda outs: outs, lambda outs: (OUT, outs), lambda outs: {"c": outs}])
    def test_dicts_in_another_order_than_jax_has(self, wrap):
        with pytest.raises(KernelDefinitionError, match=r"keys \['b', 'a'\].* in the order \['a', 'b'\]"):
            numba_kernel(copy, wrap({"b": OUT, "a": OUT}))
        numba_kernel(copy, wrap({"a": OUT, "b": OUT}))
        numba_kernel(copy, wrap(OrderedDict(b=OUT, a=OUT)))

    @pytest.mark.parametrize("extent", [-1, 2.5, "n", 2**62])
    def test_outs_of_a_shape_that_cannot_be(self, extent):
        with pytest.raises(KernelDefinitionError, match=r"outs holds ShapeDtypeStruct.*expected a"):
            numba_kernel(copy, jax.ShapeDtypeStruct((3, extent), jnp.float32))

    def test_64_bit_outputs_need_x64(self):
        with pytest.raises(KernelDefinitionError, match="jax_enable_x64"):
            numba_kernel(copy, jax.ShapeDtypeStruct((3,), np.float64))

    @pytest.mark.parametrize("aliases", [{0: 1}, {-1: 0}, {0: -1}, {0: 0, 1: 0}])
    def test_alias_of_an_output_that_is_not_there(self, aliases):
        with pytest.raises(KernelDefinitionError, match="input_output_aliases"):
            numba_kernel(copy, OUT, input_output_aliases=aliases)


class TestWhenTraced:
    """Under jax.eval_shape nothing runs and nothing is lowered: the error belongs to tracing."""

    def refuse(self, kernel, message, *ins, outs=OUT, **options):
        with pytest.raises(KernelTypeError, match=message):
            jax.eval_shape(numba_kernel(kernel, outs, **options), *ins)

    def test_arity(self):
        message = r"kernel 'copy' takes 2 arguments \(x, out\), but the call has 2 inputs and 1 outputs"
        self.refuse(copy, message, jnp.ones(3), jnp.ones(3))

    def test_variable_arguments(self):
        self.refuse(star, r"kernel 'star'.*\*arrays", jnp.ones(3))

    def test_write_into_input(self):
        self.refuse(writes_input, "'writes_input' writes into its input 'y'", jnp.ones(3), jnp.ones(3))

    def test_typing_error(self):
        self.refuse(typo, r"kernel 'typo' does not compile for \(x: [^)]*float32(.|\n)*lenght", jnp.ones(3))

    def test_object_mode_in_a_callee(self):
        self.refuse(calls_python, "Python by numba.objmode, in prints; .*NUMBA_DISABLE_JIT=1", jnp.ones(3))

    @pytest.mark.parametrize("given", [None, {"a": jnp.ones(3)}, [jnp.ones(3)], (jnp.ones(3),)])
    def test_what_is_no_array(self, given):
        message = f"'copy': input 'x' is a {type(given).__name__}; expected an array or a number"
        self.refuse(copy, message, given)

    def test_keys(self):
        self.refuse(copy, r"input 'x' is a key.*jax\.random\.key_data\(key\)", jax.random.key(0))

    def test_import_in_the_body(self):
        self.refuse(imports, "'imports' imports 'math' in its body.*top of the file", jnp.ones(3))

    def test_returns_a_value(self):
        self.refuse(returns, r"'returns' returns float32; .*write `out\[:\] = \.\.\.`", jnp.ones(3))
        self.refuse(
            returns, r"`out\[\(\)\] = \.\.\.`", jnp.ones(3), outs=jax.ShapeDtypeStruct((), jnp.float32)
        )
        self.refuse(returns_its_output, "`return` without a value", jnp.ones(3))

    @pytest.mark.parametrize("kernel", [counts, counts_as_long, adds_up, converts, slices])
    def test_numbers_taken_for_what_they_are_in_python(self, kernel):
        message = (
            r"does not compile for \(n: .*0d, C\), out: .*\); a number .* read and write it as `n\[\(\)\]`\n"
        )
        self.refuse(numba.njit(kernel), message, 3)

    def test_no_such_hint_where_numbers_are_not_what_is_wrong(self):
        with pytest.raises(KernelTypeError) as caught:
            jax.eval_shape(numba_kernel(typo, OUT), 3)
        assert "without dimensions" not in str(caught.value)

    def test_an_index_into_a_number_that_is_an_output(self):
        @numba.njit
        def writes_a_number(x, out):
            out[0] = x[0]

        number = jax.ShapeDtypeStruct((), jnp.float32)
        self.refuse(writes_a_number, r"read and write it as `out\[\(\)\]`\n", jnp.ones(3), outs=number)

    @pytest.mark.parametrize("dtype", [jnp.float8_e4m3fn, jnp.int4])
    def test_dtypes_without_support(self, dtype):
        message = rf"kernel 'copy': argument 'x' has dtype {np.dtype(dtype).name}"
        self.refuse(copy, message, jnp.ones(3, dtype))
        self.refuse(copy, "argument 'out'", jnp.ones(3), outs=jax.ShapeDtypeStruct((3,), dtype))

    def test_aliased_shapes_differ(self):
        self.refuse(copy, "equal shapes and dtypes", jnp.ones(4), input_output_aliases={0: 0})

    def test_alias_of_an_input_that_is_not_there(self):
        self.refuse(copy, "the call has 1 inputs", jnp.ones(3), input_output_aliases={1: 0})

    def test_no_derivative(self):
        with pytest.raises(MissingRuleError, match=r"'copy'.*custom_jvp.*differentiable=True"):
            jax.grad(lambda x: numba_kernel(copy, OUT)(x).sum())(jnp.ones(3))

    def test_arithmetic_with_a_number_on_a_gpu(self):
        """Numba for GPUs names the ufunc alone."""
        said = error_messages.not_compiled(
            "k", ("x",), (numba.types.Array(numba.float32, 0, "C"),), TypeError("<ufunc 'multiply'>")
        )
        assert "read and write it as `x[()]`" in said
