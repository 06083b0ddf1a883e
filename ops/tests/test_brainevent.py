"""BrainEvent's primitives on operators of the catalog give what they give on BrainEvent's own backends."""

import functools
import re
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("brainevent", reason="brainevent is not installed, which needs Python 3.12")

import brainevent as be
from brainevent._csr.binary import _make_binary_csrmv_workspace

from event_ops import brainevent as ours
from event_ops.brainevent import registry
from event_ops.brainevent.served import SERVED
from ffi_bridge.errors import UntestedVersionWarning

PAGE = Path(__file__).parents[2] / "docs" / "migration" / "brainevent.md"
ROWS, COLUMNS, PER_ROW, TRIALS, SLOTS = 30, 20, 4, 3, 6
THEIRS = "numba"
RNG = np.random.default_rng(0)
INDICES = RNG.integers(0, COLUMNS, (ROWS, PER_ROW)).astype(np.int32)
INDPTR = np.arange(0, ROWS * PER_ROW + 1, PER_ROW, dtype=np.int32)
WEIGHTS = RNG.normal(size=ROWS * PER_ROW).astype(np.float32)
SHAPE = ROWS, COLUMNS
ONE = np.float32([0.5])
BY_COLUMN = be.csr_to_csc_index(INDPTR, INDICES.ravel(), shape=SHAPE)


@pytest.fixture(autouse=True)
def as_brainevent_expects(monkeypatch):
    """BrainEvent relies on JAX's usual promotion, and our backend is not the default after a test."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
    ours.uninstall()


def flags(*shape):
    return np.random.default_rng(1).random(shape) < 0.3


def numbers(*shape):
    return (flags(*shape) * np.random.default_rng(2).normal(size=shape)).astype(np.float32)


@functools.cache
def matrix(one=False, dtype="float32"):
    """BrainEvent's matrix, which is built outside of jit."""
    weights = jnp.asarray(ONE if one else WEIGHTS, dtype)
    return be.CSR((weights, jnp.asarray(INDICES.ravel()), jnp.asarray(INDPTR)), shape=SHAPE)


def csr_product(x, *, pre, event=be.BinaryArray, one=False):
    def call():
        A, v = matrix(one), event(jnp.asarray(x))
        return v @ A if pre else A @ v

    return call


def on_pre():
    w = jnp.asarray(WEIGHTS)
    trace = jnp.asarray(numbers(COLUMNS))
    return be.update_csr_on_binary_pre(w, INDICES.ravel(), INDPTR, flags(ROWS), trace, -1.0, 1.0, shape=SHAPE)


def on_post():
    ends, rows, places = BY_COLUMN
    trace = jnp.asarray(numbers(ROWS))
    w = jnp.asarray(WEIGHTS)
    return be.update_csr_on_binary_post(w, rows, ends, places, trace, flags(COLUMNS), shape=SHAPE)


def fixed_on_pre():
    w, trace = jnp.asarray(WEIGHTS.reshape(ROWS, PER_ROW)), jnp.asarray(numbers(COLUMNS))
    return be.update_fixed_post_conn_on_binary_pre(w, jnp.asarray(INDICES), flags(ROWS), trace, shape=SHAPE)


def delivered(events, weights=WEIGHTS):
    ring = jnp.asarray(numbers(SLOTS, COLUMNS))
    delays = np.random.default_rng(3).integers(1, SLOTS, WEIGHTS.size).astype(np.int32)
    matrix = jnp.asarray(weights), INDICES.ravel(), INDPTR
    return lambda: be.csr_delay_deliver(ring, events, *matrix, delays, jnp.int32(8), shape=SHAPE)


def fixed(x, weights, *, pre):
    product = be.binary_fcnmm if np.ndim(x) == 2 else be.binary_fcnmv
    return lambda: product(jnp.asarray(weights), jnp.asarray(INDICES), x, shape=SHAPE, transpose=pre)


def indexed(x, *, pre, weights=WEIGHTS, weighted=False):
    """A or A.T, as a product with the matrix sorted by column, whose weights a permutation finds."""
    ends, rows, places = BY_COLUMN
    product = be.binary_csrmm_indexed if np.ndim(x) == 2 else be.binary_csrmv_indexed
    options = {"workspace": _make_binary_csrmv_workspace(ends), "weighted": weighted}
    structure = rows, ends, places
    return lambda: product(
        jnp.asarray(weights), *structure, x, shape=SHAPE[::-1], transpose=not pre, **options
    )


@functools.cache
def tiled(one):
    """BrainEvent's matrix in tiles, which needs integers of 64 bits and is built outside of jit."""
    with jax.enable_x64(True):
        return be.TCSR.fromcsr(matrix(one))


def tiled_product(x, *, pre, event=be.BinaryArray, one=False):
    def call():
        A, v = tiled(one), event(jnp.asarray(x))
        with jax.enable_x64(True):
            return v @ A if pre else A @ v

    return call


PARTS = jnp.asarray(WEIGHTS), jnp.asarray(INDICES.ravel()), jnp.asarray(INDPTR)
PADDED = WEIGHTS.reshape(ROWS, PER_ROW)
CALLS = {
    "flags @ A": csr_product(flags(ROWS), pre=True),
    "A @ flags": csr_product(flags(COLUMNS), pre=False),
    "numbers as events @ A": csr_product(numbers(ROWS), pre=True),
    "values of events @ A": csr_product(numbers(ROWS), pre=True, event=be.WeightedArray),
    "A @ values of events": csr_product(numbers(COLUMNS), pre=False, event=be.WeightedArray),
    "one weight": csr_product(flags(ROWS), pre=True, one=True),
    "A @ flags, one weight": csr_product(flags(COLUMNS), pre=False, one=True),
    "trials @ A": csr_product(flags(TRIALS, ROWS), pre=True),
    "A @ trials": csr_product(flags(COLUMNS, TRIALS), pre=False),
    "x @ A": csr_product(numbers(ROWS), pre=True, event=jnp.asarray),
    "A @ x": csr_product(numbers(COLUMNS), pre=False, event=jnp.asarray),
    "A @ X": csr_product(numbers(COLUMNS, TRIALS), pre=False, event=jnp.asarray),
    "A @ x, one weight": csr_product(numbers(COLUMNS), pre=False, event=jnp.asarray, one=True),
    "indexed, A @ flags": indexed(flags(COLUMNS), pre=False),
    "indexed, flags @ A": indexed(flags(ROWS), pre=True),
    "indexed, A @ values of events": indexed(numbers(COLUMNS), pre=False, weighted=True),
    "indexed, one weight": indexed(flags(COLUMNS), pre=False, weights=ONE),
    "indexed, A @ trials": indexed(flags(COLUMNS, TRIALS), pre=False),
    "indexed, trials @ A": indexed(flags(ROWS, TRIALS), pre=True),
    "tiled, flags @ A": tiled_product(flags(ROWS), pre=True),
    "tiled, A @ flags": tiled_product(flags(COLUMNS), pre=False),
    "tiled, A @ flags, one weight": tiled_product(flags(COLUMNS), pre=False, one=True),
    "tiled, A @ values of events": tiled_product(numbers(COLUMNS), pre=False, event=be.WeightedArray),
    "tiled, trials @ A": tiled_product(flags(TRIALS, ROWS), pre=True),
    "tiled, A @ trials": tiled_product(flags(COLUMNS, TRIALS), pre=False),
    "tiled, A @ x": tiled_product(numbers(COLUMNS), pre=False, event=jnp.asarray),
    "tiled, X @ A": tiled_product(numbers(TRIALS, ROWS), pre=True, event=jnp.asarray),
    "tiled, A @ X": tiled_product(numbers(COLUMNS, TRIALS), pre=False, event=jnp.asarray),
    "fixed, flags @ A": fixed(flags(ROWS), PADDED, pre=True),
    "fixed, A @ flags": fixed(flags(COLUMNS), PADDED, pre=False),
    "fixed, one weight": fixed(flags(ROWS), ONE, pre=True),
    "fixed, trials": fixed(flags(ROWS, TRIALS), PADDED, pre=True),
    "dense, flags @ W": lambda: be.binary_densemv(numbers(ROWS, COLUMNS), flags(ROWS), transpose=True),
    "dense, W @ flags": lambda: be.binary_densemv(numbers(ROWS, COLUMNS), flags(COLUMNS), transpose=False),
    "dense, trials @ W": lambda: be.binary_densemm(
        numbers(ROWS, COLUMNS), flags(ROWS, TRIALS), transpose=True
    ),
    "dense, W @ trials": lambda: be.binary_densemm(
        numbers(ROWS, COLUMNS), flags(COLUMNS, TRIALS), transpose=False
    ),
    "rows times y": lambda: be.csrmv_dt2t(jnp.asarray(numbers(ROWS)), *PARTS, shape=SHAPE),
    "columns times y": lambda: be.csrmv_dt2t(
        jnp.asarray(numbers(COLUMNS)), *PARTS, shape=SHAPE, transpose=True
    ),
    "on pre": on_pre,
    "on post": on_post,
    "fixed, on pre": fixed_on_pre,
}
if hasattr(be, "csr_delay_deliver"):
    CALLS |= {
        "delays": delivered(flags(ROWS)),
        "delays, numbers": delivered(numbers(ROWS)),
        "delays, one weight": delivered(flags(ROWS), ONE),
    }


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
    command = [sys.executable, "-m", "event_ops.brainevent", str(program), "a", "b"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[0] == "['a', 'b'] event_ops __main__", done.stderr


def test_nothing_but_this_module_loads_brainevent():
    code = "import sys, event_ops; sys.exit('brainevent' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
