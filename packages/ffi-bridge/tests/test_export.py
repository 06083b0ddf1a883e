"""A program that calls native kernels is exported by one process, and called by another."""

import importlib

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from kernels_elsewhere import call_exported
from written import put, written

import ffi_bridge
from ffi_bridge import numba_kernel
from ffi_bridge.errors import MissingTargetError

pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")

pytestmark = pytest.mark.promise(9)

COMPILED = 'print("ffi_bridge.numba_cpu.compile" in sys.modules)'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path


def power(exponent, **options):
    """A kernel of its own for every exponent: what this process has compiled it does not store again."""

    @numba.njit(parallel=True)
    def powers(x, y):
        for i in numba.prange(x.size):
            y[i] = x[i] ** exponent

    call = numba_kernel(powers, jax.ShapeDtypeStruct((4,), jnp.float32), **options)
    return jax.jit(lambda x: call(x) + 1)


@pytest.mark.parametrize(
    ("exponent", "options"), [(3, {}), (6, {"has_side_effect": True}), (7, {"ordered": True})]
)
def test_another_process_calls_it_and_compiles_no_kernel(folder, exponent, options):
    program = folder / "program"
    program.write_bytes(ffi_bridge.export.export(power(exponent, **options))(jnp.ones(4)).serialize())
    called = call_exported(program, COMPILED)
    assert called.returncode == 0, called.stderr
    assert called.stdout.split("\n")[0] == str(np.arange(4.0) ** exponent + 1)
    assert called.stdout.split()[-1] == "False"


def test_without_the_kernel_cache_it_says_what_is_missing(folder):
    program = folder / "program"
    program.write_bytes(ffi_bridge.export.export(power(4))(jnp.ones(4)).serialize())
    ffi_bridge.kernel_cache.clear()
    called = call_exported(program, COMPILED)
    assert called.returncode == 1
    assert called.stderr.startswith("MissingTargetError: the program calls 'powers.numba_cpu.")
    assert "first call the kernel 'powers' here" in called.stderr


def test_in_the_process_that_exported_nothing_is_looked_for():
    content = ffi_bridge.export.export(power(5))(jnp.ones(4)).serialize()
    ffi_bridge.kernel_cache.clear()
    again = ffi_bridge.export.deserialize(content)
    np.testing.assert_array_equal(again.call(jnp.full(4, 2.0)), 33)


def test_calls_of_exported_programs_are_in_order():
    f = numba_kernel(put, lambda number, x: x, scalar_argnames="number", ordered=True)
    program = jax.jit(lambda x: [f(i, jnp.sin(x + i)) for i in range(12)])
    exported = ffi_bridge.export.export(program)(jnp.ones(100_000))
    again = ffi_bridge.export.deserialize(exported.serialize())
    both = jax.jit(lambda x: (f(40, x), again.call(x), f(50, x)))
    assert written(both, jnp.ones(100_000)) == [40, *range(12), 50]


def test_a_kernel_of_another_toolchain_is_named():
    name = f"spring.warp.{'0' * 32}"
    with pytest.raises(MissingTargetError, match=r"calls 'spring\.warp\.0+'.*first call the kernel 'spring'"):
        ffi_bridge.export._find(name, "warp")


def test_what_was_not_jitted_is_refused():
    with pytest.raises(TypeError, match=r"takes a jitted function, got .*export\(jax\.jit\(function\)\)"):
        ffi_bridge.export.export(jnp.ones)


def test_without_flatbuffers_it_says_what_to_install(monkeypatch):
    content = ffi_bridge.export.export(jax.jit(jnp.sin))(jnp.ones(4)).serialize()
    monkeypatch.setattr(jax.export, "deserialize", lambda _: importlib.import_module("no_flatbuffers"))
    with pytest.raises(ModuleNotFoundError, match=r"needs flatbuffers.*pip install \"ffi-bridge\[export\]\""):
        ffi_bridge.export.deserialize(content)


def test_programs_without_kernels_and_options_pass_through():
    exported = ffi_bridge.export.export(jax.jit(jnp.sin), platforms=["cpu", "cuda"])(jnp.ones(4))
    assert exported.platforms == ("cpu", "cuda")
    again = ffi_bridge.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(jnp.zeros(4)), 0)
