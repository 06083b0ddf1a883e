"""Kernels that call C are kept on disk: by the names of the functions, which each process finds by itself."""

import ctypes
import threading

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from c_libraries import library, needs_compiler
from kernels_elsewhere import call_exported, run
from numba.extending import get_cython_function_address

import ffi_bridge
from ffi_bridge import kernel_cache, numba_kernel
from ffi_bridge.identity import c_functions
from ffi_bridge.identity.c_functions import CFunction, name_of
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.numba_cpu import compile as compiler
from ffi_bridge.numba_cpu import object_code

pytestmark = [pytest.mark.promise(6), needs_compiler("c")]

SOURCE = """
double times(double x) { return FACTOR * x; }
static double hidden(double x) { return FACTOR * x; }
void *address(void) { return hidden; }
"""
FROM_LIBRARY = """
import ctypes
library = ctypes.CDLL("PATH")
function = library.times
function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
"""
STATIC = """
import ctypes
library = ctypes.CDLL("PATH")
library.address.restype = ctypes.c_void_p
function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address())
"""
# Of this function the library has several, and chooses one for the processor.
CHOSEN = FROM_LIBRARY.replace('"PATH"', "None").replace("times", "sin")
CYTHON = """
import ctypes
from numba.extending import get_cython_function_address
address = get_cython_function_address("scipy.special.cython_special", "gammaln")
function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)
"""
CALLBACK = """
scale = 3.0

@numba.cfunc("float64(float64)")
def function(x):
    return scale * x
"""
IN_PYTHON = """
import ctypes
function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 7 * x)
"""
CALLS = """
@numba.njit(parallel=True)
def kernel(x, y):
    for i in numba.prange(x.size):
        y[i] = function(x[i] + 2)
"""
CALLEE_CALLS = """
@numba.njit
def callee(x):
    return function(x + 2)

@numba.njit
def kernel(x, y):
    for i in range(x.size):
        y[i] = callee(x[i])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path


def times(folder, factor):
    return library(folder / "times.so", SOURCE, f"-DFACTOR={factor}")


def function_of(path, name="times"):
    """A function of a library as ctypes has it."""
    found = ctypes.CDLL(str(path))[name]
    found.__name__, found.restype, found.argtypes = name, ctypes.c_double, [ctypes.c_double]
    return found


def kernel_of(function):
    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = function(x[i])

    return kernel


def call_of(function):
    return numba_kernel(kernel_of(function), lambda x: x)


def test_a_second_process_calls_the_functions_that_it_finds(folder):
    from_library = FROM_LIBRARY.replace("PATH", str(times(folder, 5)))
    kernels = [source + CALLS for source in (from_library, CHOSEN, CYTHON, CALLBACK)]
    kernels.append(from_library + CALLEE_CALLS)
    first, compiled = run(*kernels)
    assert compiled == len(kernels)
    # x is 0, 1, 2, 3, then -1: from the library, by the processor, gamma(1) = 1, the callback.
    for expected in ("[10. 15. 20. 25.]", " 0.9092974 ", "[0. 0. 0. 0.]", "[ 6.  9. 12. 15.]"):
        assert expected in first
    assert run(*kernels) == (first, 0)


def test_a_library_that_was_built_anew_is_another_one(folder):
    program = FROM_LIBRARY.replace("PATH", str(times(folder, 2))) + CALLS
    first, compiled = run(program)
    assert "[ 4.  6.  8. 10.]" in first and compiled == 1
    times(folder, 3)
    changed, compiled = run(program)
    assert "[ 6.  9. 12. 15.]" in changed and compiled == 1
    assert run(program) == (changed, 0)
    times(folder, 2)
    assert run(program) == (first, 0)


def test_what_has_no_name_is_not_kept(folder):
    kernels = [STATIC.replace("PATH", str(times(folder, 4))) + CALLS, IN_PYTHON + CALLEE_CALLS]
    found, compiled = run(*kernels)
    assert "[ 8. 12. 16. 20.]" in found and "[14. 21. 28. 35.]" in found and compiled == 2
    assert kernel_cache.files() == []


def test_a_function_that_is_not_found_is_compiled_anew(folder):
    function = function_of(times(folder, 2))
    name = fingerprinted(call_of(function))
    key = object_code.key_of(name)
    entry = kernel_cache.load(key)
    ((variable, named),) = entry.facts["addresses"].items()
    assert CFunction(*named).symbol == "times"
    assert object_code.find(name) is not None
    for change in ({"symbol": "gone"}, {"digest": "0" * 64}, {"library": str(folder / "gone.so")}):
        facts = {**entry.facts, "addresses": {variable: CFunction(*named)._replace(**change)}}
        kernel_cache.store(key, kernel_cache.Entry(facts, entry.code))
        assert object_code.find(name) is None


def fingerprinted(call):
    """The name of the target that a call has compiled and kept."""
    before = set(ffi_bridge.targets.targets())
    call(jnp.ones(4))
    (name,) = set(ffi_bridge.targets.targets()) - before
    return name


def test_functions_of_one_library_are_told_apart(folder):
    source = "double one(double x) { return 1 * x; } double two(double x) { return 2 * x; }"
    path = library(folder / "both.so", source)
    for factor, name in ((1, "one"), (2, "two")):
        np.testing.assert_array_equal(call_of(function_of(path, name))(jnp.ones(3)), factor)


def test_the_declared_signature_counts(folder):
    path = times(folder, 2)
    narrow, wide = (function_of(path) for _ in range(2))
    narrow.argtypes = [ctypes.c_float]
    found = [fingerprint(kernel_of(function)) for function in (narrow, wide, function_of(path))]
    assert all(x.portable for x in found)
    assert found[1] == found[2] != found[0]
    kinds = [numba.types.ExternalFunction("times", x) for x in (numba.f8(numba.f8), numba.f4(numba.f4))]
    assert len({fingerprint(kernel_of(kind)).digest for kind in kinds}) == 2


def test_cython_modules_list_functions_with_their_signatures():
    address = get_cython_function_address("scipy.special.cython_special", "gammaln")
    name = name_of(address, None)
    assert (name.module, name.symbol) == ("scipy.special.cython_special", "gammaln")
    assert name.address() == address
    assert name._replace(signature="double (float)").address() is None
    assert name._replace(symbol="gamma").address() is None
    assert name._replace(module="scipy.special.of_later").address() is None


def test_a_library_is_read_once_until_its_file_changes(folder):
    path = times(folder, 2)
    function_of(path)
    before = c_functions._hash.cache_info().misses
    names = [name_of(ctypes.cast(function_of(path), ctypes.c_void_p).value, "times") for _ in range(3)]
    assert c_functions._hash.cache_info().misses == before + 1
    times(folder, 3)
    assert [name.address() for name in names] == [None] * 3


def test_callbacks_of_equal_names_and_of_equal_contents_are_told_apart():
    def named_square(body):
        names = {"numba": numba, "scale": 1.0}
        exec(f"@numba.cfunc('f8(f8)')\ndef square(x):\n    return {body}", names)
        return names

    ones = jnp.full(3, 3.0)
    for body, expected in (("x * x", 9), ("x * x * x", 27)):
        np.testing.assert_array_equal(call_of(named_square(body)["square"])(ones), expected)
    # Numba compiles a callback where it is made, with the globals of that moment.
    names = named_square("scale * x + 0.25")
    before, names["scale"] = names["square"], 2.0
    after = numba.cfunc("f8(f8)")(before.__wrapped__)
    for callback, scale in ((before, 1), (after, 2), (before, 1)):
        np.testing.assert_array_equal(call_of(callback)(ones), 3 * scale + 0.25)


def test_threads_that_meet_a_function_at_once(folder, monkeypatch):
    compiled, compile_kernel = [], compiler._compile
    monkeypatch.setattr(compiler, "_compile", lambda *x: (compiled.append(1), compile_kernel(*x))[1])
    path, wrong, start = times(folder, 6), [], threading.Barrier(8)

    def call(number):
        start.wait()
        x = jnp.full(4, float(number))
        if not np.array_equal(call_of(function_of(path))(x), 6 * x):
            wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(compiled) == 1


def test_an_exported_program_opens_the_library_and_no_other_one(folder):
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    path, program = times(folder, 9), folder / "program"
    call = jax.jit(call_of(function_of(path)))
    program.write_bytes(ffi_bridge.export.export(call)(jnp.ones(4)).serialize())
    assert call_exported(program).stdout == "[ 0.  9. 18. 27.]\n"
    times(folder, 1)
    refused = call_exported(program)
    assert "MissingTargetError" in refused.stderr and "a C library that it calls" in refused.stderr


def test_functions_of_cffi(folder):
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    ffi = cffi.FFI()
    ffi.cdef("double times(double);")
    function = ffi.dlopen(str(times(folder, 8))).times
    found = fingerprint(kernel_of(function))
    assert found.portable and found == fingerprint(kernel_of(function))
    np.testing.assert_array_equal(call_of(function)(jnp.ones(3)), 8)
    assert len(kernel_cache.files()) == 1
