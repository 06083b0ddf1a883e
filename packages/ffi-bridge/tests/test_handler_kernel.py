"""A handler that somebody wrote in C++ is a kernel like any other, once its address is given."""

import ctypes

import child_python
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from c_libraries import library, needs_compiler
from jax.sharding import PartitionSpec

import ffi_bridge
from ffi_bridge import XLACustomKernel, handler_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.targets import targets

pytestmark = needs_compiler("cc")

SOURCE = """
#include <string>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;

static ffi::Error scale(float factor, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return factor < 0 ? ffi::Error::InvalidArgument("factor < 0") : ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Scale, scale,
    ffi::Ffi::Bind().Attr<float>("factor").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

static ffi::Error sums(int64_t add, std::string_view what, ffi::Span<const float> weights,
                       ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> total,
                       ffi::ResultBuffer<ffi::S32> size) {
  float sum = what == "minus" ? -add : add;
  for (size_t i = 0; i < x.element_count(); ++i) sum += weights[i % weights.size()] * x.typed_data()[i];
  total->typed_data()[0] = sum;
  size->typed_data()[0] = x.element_count();
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(Hidden, sums,
    ffi::Ffi::Bind().Attr<int64_t>("add").Attr<std::string_view>("what")
        .Attr<ffi::Span<const float>>("weights")
        .Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::S32>>());
extern "C" void *sums_handler() { return (void *)+Hidden; }

static float seen = 0;
static ffi::Error remember(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  seen += x.typed_data()[0];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Remember, remember, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
extern "C" float what_was_seen() { return seen; }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("handlers") / "handlers.so"
    library(path, SOURCE, "-std=c++17", "-O1", "-I", jax.ffi.include_dir(), language="cc")
    found = ctypes.CDLL(str(path))
    found.sums_handler.restype, found.what_was_seen.restype = ctypes.c_void_p, ctypes.c_float
    return found


@pytest.fixture
def scale(built):
    return handler_kernel(built.Scale, lambda x, factor: x)


def capsule(address, name=None):
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(("PyCapsule_New", ctypes.pythonapi))(address, name, None)


@pytest.mark.slow
def test_attributes_are_constants_of_a_call(scale):
    x = jnp.arange(3.0)
    for factor in (2, 3, 2):
        np.testing.assert_array_equal(scale(x, factor=np.float32(factor)), factor * x)
    np.testing.assert_array_equal(jax.jit(lambda x: scale(x, factor=np.float32(4)) + 1)(x), 4 * x + 1)
    with jax.disable_jit():
        np.testing.assert_array_equal(scale(x, factor=np.float32(2)), 2 * x)


def test_attributes_of_every_kind_and_outputs_in_a_structure(built):
    number = jax.ShapeDtypeStruct((), "float32"), jax.ShapeDtypeStruct((), "int32")
    sums = handler_kernel(jax.ffi.pycapsule(built.sums_handler()), {"sum": number[0], "terms": number[1]})
    x, weights = jnp.arange(4.0) - 1, np.array([1, 10], np.float32)
    for what, expected in (("plus", 25), ("minus", 15)):
        assert sums(x, add=5, what=what, weights=weights) == {"sum": expected, "terms": 4}
    weights[1] = 100  # the call above has a copy
    assert sums(x, add=5, what="plus", weights=weights)["sum"] == 205


def test_a_program_is_compiled_once_for_equal_attributes(built):
    traced = []
    scale = handler_kernel(built.Scale, lambda x, factor: (traced.append(factor), x)[1])
    for factor in (2, 2, np.nan, np.nan, 0.0, -0.0, 0.0):
        scale(jnp.ones(3), factor=np.float32(factor))
    assert len(traced) == 4


def test_a_static_handler_has_one_name_of_this_process(built):
    made = [handler_kernel(capsule(built.sums_handler()), jax.ShapeDtypeStruct((), "float32")) for _ in "ab"]
    for sums in made:
        with pytest.raises(jax.errors.JaxRuntimeError, match="Wrong number of"):  # of outputs
            sums(jnp.ones(2), add=1, what="", weights=np.ones(1, np.float32))
    assert [target.address for target in targets().values()].count(built.sums_handler()) == 1
    assert made[0].__name__ == "handler"


NAMES = """
import ctypes, sys
import jax.numpy as jnp, numpy as np
from ffi_bridge import handler_kernel
from ffi_bridge.targets import targets
scale = handler_kernel(ctypes.CDLL(sys.argv[1]).Scale, lambda x, factor: x)
scale(jnp.ones(2), factor=np.float32(2))
print(*targets())
"""


@pytest.mark.slow
def test_a_handler_has_the_same_name_in_every_process(built, scale):
    (there,) = child_python.output("-c", NAMES, built._name).split()
    scale(jnp.ones(2), factor=np.float32(2))
    assert there in targets()
    assert there.startswith("Scale.handler.")
    by_capsule = handler_kernel(jax.ffi.pycapsule(built.Scale), lambda x, factor: x)
    by_capsule(jnp.ones(2), factor=np.float32(2))
    assert len([name for name in targets() if name.startswith("Scale.")]) == 1


@pytest.mark.parametrize(
    "method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]
)
def test_vmap(built, method):
    call = handler_kernel(built.Scale, lambda x, factor: x, vmap_method=method)
    x = jnp.arange(12.0).reshape(2, 3, 2)
    scaled = jax.vmap(jax.vmap(lambda x: call(x, factor=np.float32(3)), in_axes=1))(x)
    np.testing.assert_array_equal(scaled, 3 * jnp.swapaxes(x, 1, 2))


def test_no_handler_loops_by_itself(built):
    with pytest.raises(KernelDefinitionError, match="vmap_method=None is not known for a handler kernel"):
        handler_kernel(built.Scale, jax.ShapeDtypeStruct((2,), "float32"), vmap_method=None)


def test_what_is_aliased_is_overwritten(built):
    call = handler_kernel(built.Scale, lambda x, factor: x, input_output_aliases={0: 0})
    text = jax.jit(lambda x: call(x, factor=np.float32(2))).lower(jnp.ones(3)).as_text()
    assert "output_operand_alias" in text
    np.testing.assert_array_equal(call(jnp.ones(3), factor=np.float32(2)), 2)
    with pytest.raises(KernelTypeError, match=r"kernel 'Scale': input 'in0' is .* aliased with output 0"):
        handler_kernel(
            built.Scale, lambda x, factor: jax.ShapeDtypeStruct((4,), "float32"), input_output_aliases={0: 0}
        )(jnp.ones(3), factor=np.float32(2))


@pytest.mark.parametrize("effect", [True, False])
def test_calls_with_effects_are_kept(built, effect):
    call = handler_kernel(built.Remember, lambda x: x, has_side_effect=effect)

    @jax.jit
    def program(x):
        call(x)
        return x

    before = built.what_was_seen()
    program(jnp.ones(2)).block_until_ready()
    jax.effects_barrier()
    assert built.what_was_seen() - before == effect


def test_a_backend_of_an_operator(built):
    operator = XLACustomKernel("scaled_by_cpp")
    operator.def_reference(lambda outs, factor: lambda x: (factor * x,))

    def builder(outs, factor):
        call = handler_kernel(built.Scale, outs)
        return lambda x: call(x, factor=np.float32(factor))

    operator.def_kernel("cpp", "cpu", builder, asdefault=True)
    x = jnp.arange(3.0)
    (found,) = operator(x, outs=[jax.ShapeDtypeStruct(x.shape, x.dtype)], factor=3.0)
    np.testing.assert_array_equal(found, 3 * x)
    slope = jax.grad(
        lambda x: operator(x, outs=[jax.ShapeDtypeStruct(x.shape, x.dtype)], factor=3.0)[0].sum()
    )
    np.testing.assert_array_equal(slope(x), 3)


def test_inside_loops_and_on_meshes(scale):
    x = jnp.ones(3)
    doubled = jax.lax.fori_loop(0, 5, lambda _, x: scale(x, factor=np.float32(2)), x)
    np.testing.assert_array_equal(doubled, 32)
    whole, parts = PartitionSpec(), PartitionSpec("i")
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    each = jax.shard_map(
        lambda x, y: scale(x + y, factor=np.float32(2)), mesh=mesh, in_specs=(parts, whole), out_specs=parts
    )
    np.testing.assert_array_equal(each(x, x), 4)


def test_exported_programs_name_it(scale):
    exported = ffi_bridge.export.export(jax.jit(lambda x: scale(x, factor=np.float32(7))))(jnp.ones(3))
    np.testing.assert_array_equal(exported.call(jnp.ones(3)), 7)


def test_errors_name_the_handler(built, scale):
    with pytest.raises(KernelDefinitionError, match=r"^kernel 'Scale': its outs, the function .* IndexError"):
        handler_kernel(built.Scale, lambda x: x.shape[7])(jnp.ones(2))
    with pytest.raises(KernelTypeError, match=r"^kernel 'Scale': input 'in0' is a NoneType"):
        scale(None, factor=np.float32(1))


def test_errors_of_a_handler_arrive(scale):
    with pytest.raises(jax.errors.JaxRuntimeError, match="factor < 0"):
        scale(jnp.ones(2), factor=np.float32(-1)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="expected F32 but got F64"):
        scale(jnp.ones(2), factor=2.0).block_until_ready()


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (None, TypeError, "needs an XLA_FFI_Handler, got None; expected a function of a library"),
        (7, TypeError, "got 7"),
        (len, TypeError, "got <built-in function len>"),
        (ctypes.CFUNCTYPE(None)(0), KernelDefinitionError, "null pointer; expected a function"),
        (capsule(8, b"xla._CUSTOM_CALL_TARGET"), KernelDefinitionError, "name 'xla._CUSTOM_CALL_TARGET', of"),
    ],
    ids=["None", "number", "Python function", "null", "another capsule"],
)
def test_what_is_no_handler_is_refused(given, error, text):
    with pytest.raises(error, match=text):
        handler_kernel(given, lambda x: x)


def test_other_platforms_are_refused(built):
    with pytest.raises(KernelDefinitionError, match="platform is 'tpu'; expected one of cuda, cpu"):
        handler_kernel(built.Scale, lambda x, factor: x, platform="tpu")
    cuda = handler_kernel(built.Scale, lambda x, factor: x, platform="cuda")
    with pytest.raises(NotImplementedError, match="'Scale' is a handler kernel for cuda and its program is"):
        cuda(jnp.ones(2), factor=np.float32(1))


@pytest.mark.parametrize(("factor", "kind"), [(jnp.ones(()), "an array of JAX"), (len, "a builtin_function")])
def test_attributes_are_known_when_traced(scale, factor, kind):
    with pytest.raises(KernelTypeError, match=f"'Scale': the attribute factor is {kind}.*is an input"):
        scale(jnp.ones(2), factor=factor)
    with pytest.raises(KernelTypeError, match=r"the attribute factor\.of is"):
        jax.jit(lambda x: scale(x, factor={"of": x}))(jnp.ones(2))
