"""BrainEvent's primitives on operators of the catalog give what they give on BrainEvent's own backends."""

import re
from pathlib import Path

import child_python
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("brainevent", reason="brainevent is not installed, which needs Python 3.12")

import brainevent as be
from calls_of_brainevent import (
    CALLS,
    COLUMNS,
    INDICES,
    INDPTR,
    PARTS,
    ROWS,
    SHAPE,
    WEIGHTS,
    flags,
    matrix,
    numbers,
)

from event_ops import brainevent as ours
from event_ops.brainevent import registry
from event_ops.brainevent.supported_primitives import SERVED
from ffi_bridge.errors import UntestedVersionWarning

PAGE = Path(__file__).parents[2] / "docs" / "migration" / "brainevent.md"
THEIRS = "numba"


@pytest.fixture(autouse=True)
def as_brainevent_expects(monkeypatch):
    """BrainEvent relies on JAX's usual promotion, and our backend is not the default after a test."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
    ours.uninstall()


def close(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), ours, theirs)


@pytest.mark.parametrize("name", CALLS)
def test_calls_give_what_brainevent_gives(name):
    theirs = CALLS[name]()
    with ours.installed():
        close(CALLS[name](), theirs)
        close(jax.jit(CALLS[name])(), theirs)


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith(("indexed", "tiled"))])
def test_calls_whose_weights_a_permutation_may_find_are_served(name):
    CALLS[name]()  # outside of jit first: there BrainEvent makes what it keeps
    with ours.installed():
        assert is_served(CALLS[name])


@pytest.mark.parametrize("name", SERVED)
def test_every_served_primitive_is_reached_by_its_tests(name):
    if name not in registry.primitives():
        pytest.skip(f"brainevent {ours.VERSION} has no {name}")
    primitive = registry.primitives()[name]
    assert primitive.defaults["cpu"] == THEIRS
    with ours.installed():
        assert primitive.defaults["cpu"] == "event_ops"
    assert primitive.defaults["cpu"] == THEIRS
    assert {"event_ops"} <= {*primitive.available_backends("cpu")} & {*primitive.available_backends("gpu")}


def loss(weights, x):
    A = be.CSR((weights, jnp.asarray(INDICES.ravel()), jnp.asarray(INDPTR)), shape=SHAPE)
    return jnp.sum((be.BinaryArray(x) @ A) ** 2) + jnp.sum((A @ jnp.ones(COLUMNS)) ** 3)


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, lambda f: jax.vmap(jax.grad(f))])
def test_derivatives_and_batches_are_brainevents(transform):
    weights, x = jnp.asarray(WEIGHTS), jnp.asarray(flags(ROWS), jnp.float32)
    if transform is not jax.grad:
        weights, x = jnp.stack([weights, 2 * weights]), jnp.stack([x, x])
    theirs = transform(loss)(weights, x)
    with ours.installed():
        close(transform(loss)(weights, x), theirs)


def is_served(call, *args):
    """Return whether a call of this library's machine code is in the program."""
    return ".numba_cpu." in jax.jit(call).lower(*args).as_text()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_weights_of_every_float_are_served(dtype):
    """16 bits are summed in 32, and rounded once; BrainEvent's Numba backend does not take them."""
    with jax.enable_x64(True), ours.installed():
        A, dense = matrix(dtype=dtype), matrix().todense()
        eps = max(1e-6, float(jnp.finfo(dtype).eps))
        for event, x in ((be.BinaryArray, flags(ROWS)), (jnp.asarray, numbers(ROWS).astype(dtype))):
            y = event(x) @ A  # outside of jit first: there BrainEvent makes what it keeps
            assert y.dtype == dtype and is_served(lambda x, event=event: event(x) @ A, x)
            np.testing.assert_allclose(y.astype("f"), x.astype("f") @ dense, rtol=4 * eps, atol=4 * eps)


def test_plasticity_delays_and_scaled_rows_of_16_bits_stay_brainevents():
    assert {name for name, s in SERVED.items() if "float16" not in s.dtypes} == {
        "csrmv_dt2t",
        "binary_csr_plast",
        "csr2csc_on_post",
        "fcn_plasticity_row",
        "csr_delay_deliver",
        "csr_delay_deliver_layout",
    }


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rows_are_scaled_unless_weights_have_16_bits(dtype):
    weights, *structure = PARTS
    y, w = jnp.asarray(numbers(ROWS), dtype), weights.astype(dtype)
    with ours.installed():
        assert is_served(lambda y, w: be.csrmv_dt2t(y, w, *structure, shape=SHAPE), y, w) == (
            dtype == "float32"
        )


def test_installing_twice_is_as_good_as_once_and_uninstalling_restores_the_defaults():
    before = {name: dict(p.defaults) for name, p in registry.primitives().items()}
    ours.install()
    ours.install(platforms=("cpu", "gpu"))
    with ours.installed():
        pass
    assert registry.primitives()["binary_csrmv"].defaults["cpu"] == "event_ops"  # still
    assert registry.primitives()["binary_csrmv"].defaults["gpu"] == "event_ops"
    ours.uninstall()
    ours.uninstall()
    assert before == {name: dict(p.defaults) for name, p in registry.primitives().items()}


def test_the_environment_keeps_it_out(monkeypatch):
    monkeypatch.setenv(ours.VARIABLE, "0")
    ours.install()
    assert registry.primitives()["binary_csrmv"].defaults["cpu"] == THEIRS


def test_an_unknown_platform_is_refused():
    with pytest.raises(ValueError, match=r"platforms has \['tpu'\]; expected some of"):
        ours.install(platforms=("cpu", "tpu"))


def test_every_primitive_is_explained():
    with ours.installed():
        lines = ours.explain().splitlines()
    assert [line.split()[0] for line in lines] == sorted(registry.primitives())
    explained = {line.split()[0]: line for line in lines}
    assert "event_ops.csr_event_matvec (default on cpu)" in explained["binary_csrmv"]
    assert "another generator" in explained["binary_jitsmv"]
    assert "not installed" in ours.explain()


def test_versions():
    registry.check_version("0.2.1")
    with pytest.raises(ImportError, match=r"serves brainevent 0.2 and 0.3, and 0.1.2 is installed"):
        registry.check_version("0.1.2")
    with pytest.warns(UntestedVersionWarning, match="tested with 0.3 at most"):
        registry.check_version("0.4.0")


def test_the_migration_page_has_every_public_name():
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)", row[1])}
    assert set(be.__all__) - named == set()
    assert all(row[2].strip() for row in rows)


def test_a_program_is_run_so(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, brainevent\nprint(sys.argv[1:], brainevent.binary_csrmv_p.defaults['cpu'], __name__)\n"
    )
    printed = child_python.output("-m", "event_ops.brainevent", program, "a", "b")
    assert printed.split("\n")[0] == "['a', 'b'] event_ops __main__"


def test_nothing_but_this_module_loads_brainevent():
    code = "import sys, event_ops; sys.exit('brainevent' in sys.modules)"
    child_python.output("-c", code, new=True)
