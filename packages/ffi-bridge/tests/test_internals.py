"""Inner names of other libraries mean what the bridge takes them for; a newer version is told of."""

import importlib.util
import types
import warnings
from unittest import mock

import numba
import numpy as np
import pytest
from llvmlite import binding as llvm
from numba import types as nb
from numba.core.datamodel import default_manager
from numba.extending import intrinsic, overload

from ffi_bridge.errors import UntestedVersionWarning
from ffi_bridge.identity import internals as contents
from ffi_bridge.numba_cpu import compile, internals, parallel_region
from ffi_bridge.numba_cpu.layout import Layout

NUMBA = ("numba", "numba", "ffi_bridge.numba_cpu.internals")
LLVM = ("numba_cuda", "numba-cuda", "ffi_bridge.numba_cuda.by_llvm")
MLIR = ("numba_cuda_mlir", "numba-cuda-mlir", "ffi_bridge.numba_cuda.by_mlir")
WARP = ("warp", "warp-lang", "ffi_bridge.warp.internals")


def executed(name: str) -> types.ModuleType:
    """A module as a process has it that imports it now."""
    found = importlib.util.find_spec(name)
    assert found and found.origin
    spec = importlib.util.spec_from_file_location("executed_now", found.origin)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("package", "title", "module"), [NUMBA, LLVM, MLIR, WARP])
@pytest.mark.parametrize("newer", [True, False])
def test_only_a_version_newer_than_the_tested_one_is_told_of_and_once(
    package, title, module, newer, monkeypatch
):
    library = pytest.importorskip(package, reason=f"{package} is not installed")
    major, minor = importlib.import_module(module).TESTED
    version = f"{major}.{minor + newer}.7rc1"
    monkeypatch.setattr(library, "__version__", version)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        executed(module)
    told = [str(x.message) for x in seen if issubclass(x.category, UntestedVersionWarning)]
    assert len(told) == newer
    for text in told:
        assert f"{title} {version} is installed" in text
        assert f"tested with {major}.{minor} at most" in text
        assert 'simplefilter("ignore", ffi_bridge.errors.UntestedVersionWarning)' in text


@pytest.mark.parametrize(
    ("package", "title", "module", "owner", "name"),
    [
        (*NUMBA, "numba.core.cpu", "CPUContext"),
        (*NUMBA, "numba.core.pythonapi:PythonAPI", "save_thread"),
        (*LLVM, "numba.cuda.codegen:CUDACodeLibrary", "_ensure_cc"),
        (*MLIR, "numba_cuda_mlir.tools", "_cached_cc"),
        (*WARP, "warp._src.context", "pack_arg"),
        (*WARP, "warp:Kernel", "get_mangled_name"),
    ],
)
def test_a_missing_name_is_told_of_with_the_version_and_what_to_do(
    package, title, module, owner, name, monkeypatch
):
    version = pytest.importorskip(package, reason=f"{package} is not installed").__version__
    major, minor = importlib.import_module(module).TESTED
    place, _, attribute = owner.partition(":")
    found = importlib.import_module(place)
    monkeypatch.delattr(getattr(found, attribute) if attribute else found, name)
    expected = rf"{title} {version} does not have .*{name}.*newest .*ffi-bridge, or {title} {major}\.{minor}"
    with pytest.raises(ImportError, match=expected):
        executed(module)


ARRAY = nb.Array(nb.float32, 1, "C")


def compiled(function, *, name: str, **options) -> internals.CompileResult:
    """A kernel of an input x and an output out, with its handler."""
    layout = Layout(name, ("x", "out"), 1, ((), ()))
    arrays = [ARRAY.copy(readonly=True), ARRAY]
    emit = mock.patch.object(compile, "emit_handler", wraps=compile.emit_handler)
    with internals.global_compiler_lock, emit as emitted:
        compile.compile_handler(
            numba.njit(**options)(function),
            arrays,
            layout,
            name,
            noalias=True,
            num_threads=None,
            keep=False,
        )
    found: internals.CompileResult = emitted.call_args.args[0]
    return found


def double_each(x, out):
    for i in numba.prange(out.size):
        out[i] = 2 * x[i]


def entries(found: internals.CompileResult) -> list[str]:
    """The machine code, as text, of functions that enter a parallel region."""
    functions = (f for f in internals.linked_functions(found) if not f.is_declaration)
    return [str(f) for f in functions if f"call void @{internals.PARALLEL_FOR}" in str(f)]


def takes_the_gil(text: str) -> bool:
    return "gil_ensure" in text.lower() or "GILState_Ensure" in text


@pytest.mark.promise(2)
def test_a_parallel_region_is_entered_without_the_gil_which_numbas_own_callers_take():
    ours = entries(compiled(double_each, name="free", parallel=True))
    dispatcher = numba.njit(parallel=True)(double_each)
    dispatcher.compile((ARRAY, ARRAY))
    (numbas,) = dispatcher.overloads.values()
    assert ours
    assert not any(map(takes_the_gil, ours))
    assert any(map(takes_the_gil, entries(numbas)))


@pytest.mark.promise(2)
def test_another_name_of_the_functions_that_enter_a_region_is_told_of(monkeypatch):
    monkeypatch.setattr(internals, "PARALLEL_ENTRY", ".another.")
    with pytest.warns(UntestedVersionWarning, match=r"lets go of the GIL in .*\.kernel\..*newer ffi-bridge"):
        found = compiled(double_each, name="renamed", parallel=True)
    assert any(map(takes_the_gil, entries(found)))


def test_the_pool_of_threads_is_called_as_ours_is():
    found = internals.linked_functions(compiled(double_each, name="pool", parallel=True))
    pool = next(f for f in found if f.name == internals.PARALLEL_FOR)
    kinds = [str(x.type) == "i64" for x in pool.arguments]
    assert kinds == [str(x) == "i64" for x in parallel_region.ENTER.args]
    for name in (internals.THREAD_ID, internals.GET_NUM_THREADS, internals.SET_NUM_THREADS):
        assert llvm.address_of_symbol(name)


def test_the_fields_of_arrays_are_in_this_order_in_structs_and_among_arguments():
    assert default_manager[ARRAY]._fields == internals.ARRAY_FIELDS
    names = [x.name for x in internals.function_of(compiled(double_each, name="fields")).arguments]
    assert {internals.data_argument("x"), internals.data_argument("out")} <= set(names)


def test_machine_code_names_environments_and_the_runtime_as_expected():
    def allocates(x, out):
        if x[0] < 0:
            raise ValueError("negative")
        out[:] = np.cumsum(x)

    module = internals.finished_module(compiled(allocates, name="allocates"))
    variables = [x.name for x in module.global_variables if x.name.startswith(internals.ENVIRONMENT)]
    assert any(internals.lookup_environment(name) for name in variables)
    used = {f.name for f in module.functions if f.is_declaration and f.name.startswith("NRT_")}
    assert used
    assert used <= internals.runtime_functions().keys()


def test_dispatchers_overloads_and_intrinsics_are_known_by_their_inner_names():
    def plain(x): ...

    @overload(plain)
    def chosen(x):
        return lambda x: x

    @intrinsic
    def emitted(context, x):
        return x(x), lambda context, builder, signature, arguments: arguments[0]

    dispatcher = numba.njit(lambda x: plain(x))
    assert dispatcher(2.0) == 2.0
    assert contents.is_dispatcher(dispatcher)
    assert not contents.is_dispatcher(plain)
    assert len(contents.results_of(dispatcher)) == 1
    assert not contents.has_declared_signatures(dispatcher)
    assert contents.has_declared_signatures(numba.njit("f8(f8)")(lambda x: x))
    (template,) = contents.templates_of(plain)
    assert contents.overload_of(template) is chosen
    assert contents.results_of(template)
    assert contents.options_of(template) is not None
    assert contents.definition_of(emitted).__name__ == "emitted"
    for part in (dispatcher, template):
        contents.forget_results(part)
        assert not contents.results_of(part)


def test_files_of_a_dispatcher_are_left_alone_within_the_block(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    dispatcher = numba.njit(cache=True)(double_each)
    with contents.without_files(dispatcher):
        dispatcher.compile((ARRAY, ARRAY))
    assert not list(tmp_path.rglob("*.nb?"))
    dispatcher.recompile()
    assert list(tmp_path.rglob("*.nb?"))


def test_cuda_kernels_take_arrays_by_the_same_fields():
    by_llvm = pytest.importorskip(LLVM[2], reason="numba-cuda is not installed")
    manager = by_llvm.COMPILER.dispatcher.targetdescr.target_context.data_model_manager
    assert manager[ARRAY]._fields == internals.ARRAY_FIELDS
    first = internals.ARRAY_FIELDS.index("shape")
    words = dict(zip(internals.ARRAY_FIELDS[:first], by_llvm.COMPILER.array((6,), (4,), 4), strict=False))
    assert words == {"meminfo": 0, "parent": 0, "nitems": 6, "itemsize": 4, "data": None}


def test_what_warp_calls_elements_parameters_contents_and_host_functions():
    wp = pytest.importorskip("warp", reason="warp-lang is not installed")
    inside, memory, compiler, record = (
        importlib.import_module(f"ffi_bridge.warp.{name}")
        for name in ("internals", "memory", "compile", "record")
    )
    wp.init()
    assert inside.element_shape(wp.mat22d) == (2, 2)
    assert inside.element_shape(wp.float32) == ()
    assert inside.scalar_of(wp.mat22d) is inside.scalar_of(wp.float64) is wp.float64
    assert [name for name, _ in inside.parameters_of(memory.filled)] == ["value", "target"]
    kernel = compiler.specialised(memory.filled, [wp.float32, wp.array(dtype=wp.float32, ndim=1)])
    contents = inside.hash_of_module(kernel, 256)
    inside.forget_hash(kernel)
    assert inside.hash_of_module(kernel, 256) == contents != inside.hash_of_module(kernel, 128)
    replaced = inside.host_functions(record.Recorder("f", (), 0).names)
    assert all(callable(getattr(owner, name)) for owner, name, _ in replaced)
