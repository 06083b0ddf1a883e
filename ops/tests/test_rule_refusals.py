"""A wrong rule is refused before anything runs, with its line, what it did, and what to do instead."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import plasticity

W, X, SHAPE = np.ones(3, "f"), np.ones(4, "f"), (2, 4)
STRUCTURE = np.array([0, 3, 1]), np.array([0, 1, 3])
SPIKES = np.ones(2, bool)


def on_pre(rule, synapses=W, spikes=SPIKES, **variables):
    return plasticity.on_pre(rule, synapses, *STRUCTURE, spikes, **({"shape": SHAPE} | variables))


def printing(w):
    jax.debug.print("{}", w)
    return w


def calling_back(w):
    return jax.pure_callback(lambda w: w, jax.ShapeDtypeStruct((), "f"), w)


def looping(w):
    return jax.lax.while_loop(lambda w: w > 1, lambda w: w / 2, w)


def random(w):
    return w + jax.random.uniform(jax.random.key(0), (), w.dtype)


def random_with(w, key=jax.random.key(1)):  # noqa: B008
    return w + jax.random.normal(key, (), w.dtype)


@jax.custom_vjp
def straight(w):
    return jnp.sign(w)


straight.defvjp(lambda w: (straight(w), None), lambda _, ct: (ct,))


LACKING = {
    "custom_vjp_call": (lambda w: straight(w), "jax.custom_jvp"),
    "debug_print": (printing, "side effects"),
    "pure_callback": (calling_back, "side effects"),
    "while": (looping, "write the steps out"),
    "random_seed": (random, "pass them by name"),
    "lgamma": (lambda w: jax.lax.lgamma(w), "write it with those that they have: abs, acos"),
    "reduce_precision": (lambda w: jax.lax.reduce_precision(w, 5, 5), "those that they have"),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_primitive_that_kernels_lack_is_named_with_the_line(name):
    rule, instead = LACKING[name]
    at = rf"test_rule_refusals.py:{rule.__code__.co_firstlineno + (rule.__name__ != '<lambda>')}, "
    with pytest.raises(ValueError, match=f"{at}uses the primitive '{name}', which .* {instead}"):
        on_pre(rule)


OUTSIDE = np.arange(2000, dtype="f")

WRONG_RULES = {
    "two values": (lambda w: (w, w), ValueError, r"returns 2 value\(s\); expected 1"),
    "nothing": (lambda w: None, TypeError, "returns None; expected a number: is a return missing"),
    "a dict": (lambda w: {"w": w}, TypeError, r"returns \{'w': .*; expected a number"),
    "a flag": (lambda w: w > 0, TypeError, r"returns bool; expected float32, .*astype\('float32'\)"),
    "a vector": (lambda w: jnp.stack([w, w]), ValueError, r"returns an array of shape \(2,\); expected"),
    "a large array from outside": (
        lambda w: w * jnp.asarray(OUTSIDE)[1], ValueError, r"an array of more than 1024 elements, \(2000,\)",
    ),
    "a large array": (
        lambda w: jnp.full(2000, w).sum(), ValueError, r"an array, float32\[2000\], of more than 1024",
    ),
    "many turns": (
        lambda w: functools.reduce(lambda w, i: w / 2 + i, range(9999), w), ValueError, "of more than 4096",
    ),
    "a key": (random_with, ValueError, "draw numbers outside, one for each synapse"),
    "a branch": (
        lambda w: w if w > 0 else -w, jax.errors.TracerBoolConversionError, r"branches on `w > 0`, .*where"
    ),
    "an integer": (
        lambda w: w.astype(jnp.int32).astype(w.dtype), ValueError, r"casts float32 to int32, .* jnp.floor",
    ),
    "16 bits": (lambda w: w.astype(jnp.float16).astype(w.dtype), ValueError, "of float16; expected bool or"),
    "bits of another width": (
        lambda w: jax.lax.bitcast_convert_type(w, jnp.uint8).sum().astype(w.dtype), ValueError, "uint8",
    ),
    "bits": (
        lambda w: (~jnp.where(w > 0, 3, 4)).astype(w.dtype), ValueError, "'not' of int32; expected bool",
    ),
    "more": (lambda w, *, tau: w, TypeError, "missing a required .*'tau'.*pass what it needs by name"),
    "less": (lambda: 1.0, TypeError, "too many positional arguments; given are 1 synaptic"),
    "partial": (functools.partial(lambda w, tau: w, tau=np.ones(2)), None, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_RULES)
def test_a_wrong_rule_is_refused(name):
    rule, error, match = WRONG_RULES[name]
    if error is None:
        np.testing.assert_array_equal(on_pre(rule), W)
    else:
        with pytest.raises(error, match=match):
            on_pre(rule)


def test_what_is_traced_around_a_rule_has_to_be_passed():
    with pytest.raises(ValueError, match=r"reads .*float32\[\].* from around it, .*pass it by name"):
        jax.jit(lambda rate: on_pre(lambda w: w * rate))(jnp.float32(2))
    with pytest.raises(ValueError, match="pass it by name"):
        jax.grad(lambda rate: on_pre(lambda w: w * rate).sum())(2.0)


def test_a_branch_on_a_number_has_a_note():
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        on_pre(lambda w: w if w > 0 else -w)
    assert any("use jnp.where" in note for note in caught.value.__notes__)


def keep(w, **_):
    return w


WRONG_ARRAYS = {
    "integer weights": ((W.astype(int),), {}, TypeError, "synapses has dtype int"),
    "one weight": ((np.float32(1),), {}, ValueError, r"synapses has shape \(\); expected \(3,\)"),
    "a short state": (((W, W[:2]),), {}, ValueError, r"synapses\[1\] has shape \(2,\); expected \(3,\)"),
    "mixed": (((W, W.astype(np.float16)),), {}, TypeError, r"synapses\[1\] has dtype float16"),
    "no synapses": (((),), {}, ValueError, r"synapses is \(\); expected the weights"),
    "integer spikes": ((W, np.ones(2, np.int8)), {}, TypeError, "spikes_pre has dtype int8; expected bool"),
    "values twice": (
        (W, np.ones(2, "f")),
        {"spike_pre": X[:2]},
        TypeError,
        "spike_pre is given, and so are float spikes.*give no spike_pre, or say which",
    ),
    "spikes of post": ((W, np.ones(4, bool)), {}, ValueError, "one per neuron, that is per row"),
    "pre": ((W,), {"x_pre": X}, ValueError, r"x_pre has shape \(4,\); expected \(2,\): .*per row"),
    "post": ((W,), {"x_post": X[:3]}, ValueError, r"x_post has shape \(3,\); expected \(4,\): .*column"),
    "synapse": ((W,), {"rate": X}, ValueError, r"rate has shape \(4,\); expected \(3,\): .*_pre or _post"),
    "integers": ((W,), {"x_post": X.astype(np.int32)}, TypeError, "x_post has dtype int32; .*cast it"),
    "halves": ((W,), {"x_post": X.astype(np.float16)}, TypeError, "x_post has dtype float16"),
    "shape": ((W,), {"shape": (2,)}, ValueError, "expected two integers"),
    "transposed": ((W,), {"shape": (4, 2)}, ValueError, "indptr has shape"),
}


def test_a_rule_without_a_value_of_spikes_takes_no_float_spikes():
    expected = r"spikes_pre has dtype float32, .* takes no spike_pre; expected bool.*: spikes_pre != 0"
    with pytest.raises(TypeError, match=expected):
        on_pre(lambda w: w, W, np.ones(2, "f"))


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_wrong_arrays_are_refused(name):
    arguments, named, error, match = WRONG_ARRAYS[name]
    with pytest.raises(error, match=match):
        on_pre(keep, *arguments, **named)


def test_on_post_wants_the_transpose():
    rows, indptr, permutation = np.array([0, 1, 1]), np.array([0, 1, 2, 2, 3]), np.array([0, 2, 1])
    spikes = np.ones(4, bool)
    plasticity.on_post(keep, W, rows, indptr, permutation, spikes, shape=SHAPE)
    with pytest.raises(ValueError, match="it fits the rows: is it the indptr of the matrix"):
        plasticity.on_post(keep, W, rows, STRUCTURE[1], permutation, spikes, shape=SHAPE)
    with pytest.raises(ValueError, match="one per neuron, that is per column"):
        plasticity.on_post(keep, W, rows, indptr, permutation, SPIKES, shape=SHAPE)
    with pytest.raises(ValueError, match=r"x_pre has shape \(4,\); expected \(2,\)"):
        plasticity.on_post(keep, W, rows, indptr, permutation, spikes, shape=SHAPE, x_pre=X)


D, PRE, POST = np.ones((9, 7), "f"), np.ones(9, bool), np.ones(7, bool)
WRONG_DENSE = {
    "positional": ((D, PRE), {}, TypeError, "no indptr; expected indices, indptr of a sparse"),
    "no spikes": ((D,), {}, TypeError, "no spikes_pre; expected one flag per neuron"),
    "flat": ((D[0],), {"spikes_pre": PRE}, ValueError, r"1 dimensions.*expected 2: \(presyn"),
    "post": ((D,), {"spikes_pre": POST}, ValueError, r"expected \(9,\): one per neuron"),
    "shape": ((D,), {"spikes_pre": PRE, "shape": (7, 9)}, ValueError, r"expected \(9, 7\)"),
    "state": (((D, D[0]),), {"spikes_pre": PRE}, ValueError, r"synapses\[1\] has shape \(7,\)"),
    "variable": ((D,), {"spikes_pre": PRE, "rate": D[0]}, ValueError, r"rate has shape \(7,\)"),
}


@pytest.mark.parametrize("name", WRONG_DENSE)
def test_wrong_calls_with_a_dense_matrix_are_refused(name):
    arguments, named, error, match = WRONG_DENSE[name]
    with pytest.raises(error, match=match):
        plasticity.on_pre(lambda w, **_: w, *arguments, **named)
