"""Time derivatives of Numba kernels by Enzyme beside JAX's derivatives of twins in JAX.

In float64, called from Python, at sizes at which a kernel takes a fraction of a millisecond, or a few.
"value", "jvp" and "gradient": numba_kernel and JAX; a gradient is one of a weighted sum, with its value.
"gradient of" a kernel is beside its value alone; for some also the gradient by a reverse mode that is written
by hand in Numba, which runs nothing twice. The twins are as one would write them in JAX: scans, whole arrays,
`custom_root` for equations.

The kernels are those of the bridge's tests, so this runs in a clone. Not measured: compilation, second
derivatives, batches.

`extra_info`: the size.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge import numba_kernel

kernels = pytest.importorskip("test_differentiable_kernels", reason="the kernels are in the tests of a clone")
BY_HAND = pytest.importorskip("differentiable_by_hand").BY_HAND
ALL = {str(x): x for x in kernels.ALL}
OURS, JAX, HAND = "numba_kernel", "JAX", "by hand"
WAYS = (OURS, JAX)
WHATS = ("value", "jvp", "gradient")


@pytest.fixture(autouse=True, scope="module")
def _in_float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@functools.lru_cache(maxsize=1)
def work(name):
    """Return value, jvp or gradient -> way -> work."""
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
    # Weights, since the gradient of a plain sum would not show entries that change places.
    weights = [jnp.asarray(rng.normal(size=y.shape)) for y in jax.tree.leaves(jax.eval_shape(kernel, *ins))]

    def loss(function, *ins):
        return sum(map(jnp.vdot, weights, jax.tree.leaves(function(*ins))))

    def jvp(function, *ins):
        def of_floats(*moving):
            whole = dict(zip(floats, moving, strict=True))
            return function(*(whole.get(i, x) for i, x in enumerate(ins)))

        return jax.jvp(of_floats, [ins[i] for i in floats], tangents)

    calls = {what: {} for what in WHATS}
    for way, function in zip(WAYS, (kernel, differentiable.twin), strict=True):
        programs = (
            function,
            functools.partial(jvp, function),
            jax.value_and_grad(functools.partial(loss, function), floats),
        )
        for what, program in zip(WHATS, programs, strict=True):
            calls[what][way] = functools.partial(jax.jit(program), *ins)
    if name in BY_HAND:
        by_hand = functools.partial(loss, BY_HAND[name].function(differentiable))
        calls["gradient"][HAND] = functools.partial(jax.jit(jax.value_and_grad(by_hand, floats)), *ins)
    return calls


def ways(name, what):
    return (*WAYS, HAND) if what == "gradient" and name in BY_HAND else WAYS


@pytest.mark.parametrize(
    ("name", "what", "way"), [(x, what, way) for x in ALL for what in WHATS for way in ways(x, what)]
)
def test_beside_jax(in_turns, benchmark, name, what, way):
    benchmark.group = f"{name}, {what}"
    in_turns(work(name)[what], way, rivals={JAX}, rtol=1e-6, info={"size": ALL[name].large})


@functools.lru_cache(maxsize=1)
def beside_value(name):
    gradient, value = work(name)["gradient"], work(name)["value"][OURS]
    hand = {HAND: gradient[HAND]} if HAND in gradient else {}
    return {"gradient": gradient[OURS], **hand, "value": value}


def members(name):
    return ("gradient", HAND, "value") if name in BY_HAND else ("gradient", "value")


@pytest.mark.parametrize(("name", "member"), [(x, member) for x in ALL for member in members(x)])
def test_gradient(in_turns, benchmark, name, member):
    benchmark.group = f"gradient of {name}"
    in_turns(beside_value(name), member, rivals={"value"}, rtol=None, info={"size": ALL[name].large})
