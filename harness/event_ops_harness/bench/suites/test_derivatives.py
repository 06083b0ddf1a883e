"""Time derivatives of Numba kernels by Enzyme beside those that JAX makes of twins in JAX.

In float64, called from Python, at sizes at which a kernel takes a fraction of a millisecond, or a few.
"value", "jvp" and "gradient": numba_kernel and JAX; a gradient is one of a weighted sum, with its value.
"gradient of" a kernel is beside its value alone. The twins are as one would write them in JAX: scans, whole
arrays, `custom_root` for equations.

The kernels are those of the bridge's tests, so this runs in a clone. Not measured: compilation, second
derivatives, batches.

`extra_info`: the size.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops_harness.results import installed
from ffi_bridge import numba_kernel

kernels = pytest.importorskip("test_differentiable_kernels", reason="the kernels are in the tests of a clone")
ALL = {str(x): x for x in kernels.ALL}
OURS, JAX = "numba_kernel", "JAX"
WAYS = (OURS, JAX)
WHATS = ("value", "jvp", "gradient")


@pytest.fixture(autouse=True, scope="module")
def _in_float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@functools.lru_cache(maxsize=1)
def work(name):
    """Return what -> way -> work."""
    differentiable, rng = ALL[name], np.random.default_rng(1)
    ins = [jnp.asarray(x) for x in differentiable.inputs(rng, differentiable.large)]
    floats = tuple(i for i, x in enumerate(ins) if x.dtype == "float64")
    kernel = numba_kernel(
        differentiable.kernel,
        differentiable.outs,
        scalar_argnames=differentiable.scalars,
        differentiable=True,
    )
    tangents = [jnp.asarray(rng.normal(size=ins[i].shape)) for i in floats]
    weights = [jnp.asarray(rng.normal(size=y.shape)) for y in jax.tree.leaves(jax.eval_shape(kernel, *ins))]

    def loss(function, *ins):
        return sum(map(jnp.vdot, weights, jax.tree.leaves(function(*ins))))

    def jvp(function, *ins):
        def of_floats(*moving):
            whole = dict(zip(floats, moving, strict=True))
            return function(*(whole.get(i, x) for i, x in enumerate(ins)))

        return jax.jvp(of_floats, [ins[i] for i in floats], tangents)

    found = {what: {} for what in WHATS}
    for way, function in zip(WAYS, (kernel, differentiable.twin), strict=True):
        programs = (
            function,
            functools.partial(jvp, function),
            jax.value_and_grad(functools.partial(loss, function), floats),
        )
        for what, program in zip(WHATS, programs, strict=True):
            found[what][way] = functools.partial(jax.jit(program), *ins)
    return found


def info(name):
    return {"size": ALL[name].large, "versions": installed("jax", "numba", "numpy", "enzyme-ad")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", WHATS)
@pytest.mark.parametrize("name", ALL)
def test_beside_jax(in_turns, benchmark, name, what, way):
    benchmark.group = f"{name}, {what}"
    in_turns(work(name)[what], way, rivals={JAX}, rtol=1e-6, info=info(name))


@functools.lru_cache(maxsize=1)
def beside_value(name):
    return {what: work(name)[what][OURS] for what in ("gradient", "value")}


@pytest.mark.parametrize("member", ["gradient", "value"])
@pytest.mark.parametrize("name", ALL)
def test_gradient(in_turns, benchmark, name, member):
    benchmark.group = f"gradient of {name}"
    in_turns(beside_value(name), member, rtol=None, info=info(name))
