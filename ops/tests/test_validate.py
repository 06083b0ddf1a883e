"""In the validate mode operators name what breaks their contract, at the call or when a program runs."""

import inspect

import child_python
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_matrix import DENSE, small

import event_ops
from event_ops import csr_matvec, gspmm, scatter_add, segment_sum
from event_ops.discover import operators
from ffi_bridge import debug

pytestmark = pytest.mark.promise(4)

# The arguments whose values say where memory is read or written.
STRUCTURE = ("indices", "indptr", "rows", "permutation", "delays", "segment_ids")
TAKE = [
    operator
    for operator in operators()
    if set(STRUCTURE) & set(inspect.signature(operator.function).parameters)
]
FAR = 1_000_000

# JAX raises the second where it runs a program on the spot.
WHEN_RUN = (jax.errors.JaxRuntimeError, ValueError)

MATRIX = {
    "data": np.ones(3, "f"),
    "indices": np.array([2, 1, 0], np.int32),
    "indptr": np.array([0, 2, 3], np.int32),
}
INTO = {"target": np.zeros(3, "f"), "indices": np.array([0, 2], np.int32), "updates": np.ones(2, "f")}
SUMS = {"data": np.ones(3, "f"), "segment_ids": np.array([0, 1, 1], np.int32), "num_segments": 2}
SORTED = {"indices_are_sorted": True}
MATVEC = {**MATRIX, "v": np.ones(3, "f"), "shape": (2, 3)}
MATMAT = {**MATRIX, "B": np.ones((3, 2), "f"), "events": np.ones((3, 2), "f"), "shape": (2, 3)}
EVENTS = {**MATRIX, "events": np.array([1, 0, 3], np.int32), "shape": (2, 3), "encoding": "ids"}
PERMUTED = {**EVENTS, "permutation": np.array([2, 0, 1], np.int32)}
PERMUTED_X = {**MATMAT, "permutation": np.array([2, 0, 1], np.int32)}
ELL = {
    "data": np.ones((2, 2), "f"),
    "indices": np.array([[0, 1], [-1, 3]], np.int32),
    "v": np.ones(3, "f"),
    "shape": (2, 3),
}
WORDS = {
    "entries": np.array([0, 1, 6], np.uint32), "indptr": np.array([0, 2, 3], np.int32),
    "scale": np.float32(1), "v": np.ones(3, "f"), "shape": (2, 3),
}  # fmt: skip
DELIVER = {
    **MATRIX, "buffer": np.zeros((2, 3), "f"), "delays": np.array([0, 1, 1], np.uint8),
    "spikes": np.ones(2, bool), "slot": np.int32(0), "shape": (2, 3),
}  # fmt: skip
LISTS = {
    **MATRIX, "history": np.array([[1, 2], [0, 1]], np.int32), "slot": np.int32(0), "shape": (2, 3),
    "indptr": np.array([0, 2, 2, 3, 3], np.int32), "encoding": "ids",
}  # fmt: skip
STDP = {
    "w": np.ones(3, "f"), "rows": np.array([0, 1, 0], np.int32), "indptr": np.array([0, 1, 2, 3], np.int32),
    "permutation": np.array([2, 0, 1], np.int32), "spikes_post": np.ones(3, bool), "x_pre": np.ones(2, "f"),
    "shape": (2, 3), "A_plus": 0.1, "w_min": 0.0, "w_max": 2.0,
}  # fmt: skip

# operator, good arguments, the one that is broken, how, and what the error says
BROKEN = {
    "too large": ("csr_matvec", MATVEC, "indices", [2, 3, 7], r"\[1\] is 3, and 2 of 3.*0 to 2, for 3 col"),
    "negative": ("csr_matvec", MATVEC, "indices", [2, 1, -1], r"\[2\] is -1, and 1 of 3"),
    "the least integer": ("csr_todense", MATVEC, "indices", [2, 1, -(2**31)], r"\[2\] is -2147483648"),
    "falls": ("csr_matvec", MATVEC, "indptr", [0, 4, 3], r"\[2\] is 3.*an ascent from 0 to 3, the number of"),
    "begins late": ("csr_matmat", MATMAT, "indptr", [1, 2, 3], r"\[0\] is 1"),
    "ends early": ("csr_event_matmat", MATMAT, "indptr", [0, 1, 2], r"\[2\] is 2"),
    "ends late": ("csr_tocsc", MATVEC, "indptr", [0, 1, 2**31 - 1], r"\[2\] is 2147483647"),
    "a weight of none": ("csr_event_matvec", PERMUTED, "permutation", [2, 0, 3], r"\[2\] is 3.*0 to 2 once"),
    "a weight twice": ("csr_event_matmat", PERMUTED_X, "permutation", [1, 0, 1], r"\[2\] is 1.*0 to 2 once"),
    "an id of no neuron": ("csr_event_matvec", EVENTS, "events", [1, 4, 3], r"\[1\] is 4.*or 3 as padding"),
    "a word's column": ("compact_matvec", WORDS, "entries", [0, 7, 6], r"\[1\] is 7, .*their low 2 bits"),
    "no padding": ("ell_matvec", ELL, "indices", [[0, 1], [-2, 3]], r"\[1, 0\] is -2.*padding -1, 3 or"),
    "before the end": ("scatter_add", INTO, "indices", [-3, -4], r"\[1\] is -4.*-3 to 2, for 3 rows"),
    "many segments": ("segment_sum", SUMS, "segment_ids", [0, 1, 2], r"\[2\] is 2.*0 to 1, for 2 segments"),
    "unsorted": ("segment_sum", SUMS | SORTED, "segment_ids", [1, 0, 1], r"\[1\] is 0.*as was promised"),
    "a long delay": ("csr_event_deliver", DELIVER, "delays", [0, 2, 1], r"\[1\] is 2.*0 to 1, for 2 slots"),
    "behind padding": ("csr_event_arrivals", LISTS, "history", [[2, 1], [0, 1]], r"\[0, 1\] is 1.*behind"),
    "padding of another kind": ("csr_event_arrivals", LISTS, "history", [[1, 2], [0, -1]], r"\[1, 1\] is -1"),
    "a row too many": ("stdp_on_post", STDP, "rows", [0, 2, 0], r"\[1\] is 2.*for 2 rows"),
    "a place twice": ("stdp_on_post", STDP, "permutation", [2, 0, 2], r"\[2\] is 2.*each of 0 to 2 once"),
}  # fmt: skip


def call(name, given, traced=()):
    """The operator on these arguments; those that are `traced` come through jit."""
    function = getattr(event_ops, name)
    parameters = inspect.signature(function).parameters
    given = {key: x for key, x in given.items() if key in parameters}
    arrays = {key: given.pop(key) for key in traced}
    return jax.block_until_ready(jax.jit(lambda arrays: function(**given, **arrays))(arrays))


@pytest.mark.parametrize("how", ["known", "traced"])
@pytest.mark.parametrize("case", BROKEN)
def test_an_error_names_operator_argument_position_and_value(case, how):
    name, good, argument, values, match = BROKEN[case]
    bad = good | {argument: np.array(values, good[argument].dtype)}
    traced, error = ((argument,), WHEN_RUN) if how == "traced" else ((), ValueError)
    with event_ops.validate():
        call(name, good, traced)
        # No traceback, and no words of XLA, in front of what is wrong.
        with pytest.raises(error, match=f"^(INTERNAL: )?{name}: {argument}{match}.*; correct it, or leave"):
            call(name, bad, traced)
    if argument != "delays" or how == "traced":  # known delays are looked at always
        call(name, bad, traced)


def _first_case(operator):
    rng = np.random.default_rng(0)
    args, kwargs = operator.cases[0].make(rng, operator.dtypes[0], "int32")
    bound = inspect.signature(operator.function).bind(*args, **kwargs)
    return bound.arguments | {"backend": "reference"}  # what is checked comes before any backend


@pytest.mark.parametrize("operator", TAKE, ids=lambda operator: operator.name)
def test_every_operator_declares_what_its_structure_must_hold(operator):
    given = _first_case(operator)
    for argument in set(STRUCTURE) & set(given):
        broken = given[argument].astype(np.int32)
        broken.flat[-1] = FAR
        with event_ops.validate():
            call(operator.name, given)
            with pytest.raises(ValueError, match=rf"{operator.name}: {argument}\[.*\] is {FAR}, and 1 of"):
                call(operator.name, given | {argument: broken})


def test_the_catalog_has_such_operators():
    assert len(TAKE) == 28


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", None])
def test_the_dtype_of_what_is_given_does_not_matter(dtype):
    limits = np.iinfo(dtype or int)
    for value in {-1, 3, FAR, 2**40, limits.min, limits.max} - {0}:
        if limits.min <= value <= limits.max:
            indices = np.array([0, 1, value], dtype) if dtype else [0, 1, value]
            with (
                event_ops.validate(),
                pytest.raises(ValueError, match=rf"csr_matvec: indices\[2\] is {value}, "),
            ):
                call("csr_matvec", MATVEC | {"indices": indices})


@pytest.mark.parametrize("mode", ["jit", "vmap", "scan", "grad", "remat"])
def test_traced_arrays_are_checked_under_transformations(mode):
    def loss(data, indices):
        y = csr_matvec(data, indices, MATRIX["indptr"], MATVEC["v"], shape=(2, 3))
        return (y**2).sum()

    run = {
        "jit": lambda indices: loss(MATRIX["data"], indices[1]),
        "vmap": jax.vmap(loss, (None, 0)),
        "scan": lambda indices: jax.lax.scan(lambda s, i: (s + loss(MATRIX["data"], i), None), 0.0, indices),
        "grad": lambda indices: jax.grad(loss)(MATRIX["data"], indices[1]),
        "remat": lambda indices: jax.grad(jax.checkpoint(loss))(MATRIX["data"], indices[1]),
    }[mode]
    of_first = {"vmap": lambda indices: run(MATRIX["data"], indices)}.get(mode, run)
    good = jnp.array([[2, 1, 0], [0, 0, 1]], jnp.int32)
    with event_ops.validate():
        checked = jax.block_until_ready(jax.jit(of_first)(good))
        with pytest.raises(WHEN_RUN, match=r"^INTERNAL: csr_matvec: indices\[1\] is 5, and 1 of 3"):
            jax.block_until_ready(jax.jit(of_first)(good.at[1, 1].set(5)))
    jax.tree.map(np.testing.assert_array_equal, checked, jax.jit(of_first)(good))


def test_a_compiled_function_is_traced_again_for_the_mode():
    product = jax.jit(lambda indices: csr_matvec(**(MATVEC | {"indices": indices})))
    bad = jnp.array([2, 9, 0], jnp.int32)
    before = product(bad)
    with event_ops.validate(), pytest.raises(WHEN_RUN, match="csr_matvec: indices"):
        jax.block_until_ready(product(bad))
    np.testing.assert_array_equal(product(bad), before)


def test_outputs_are_guarded_in_the_mode():
    assert not debug.is_on() or debug.set_by_environment()
    with event_ops.validate():
        assert debug.is_on()
        np.testing.assert_array_equal(call("csr_matvec", MATVEC), [2, 1])


def test_matrices_are_looked_at_in_the_mode_even_if_told_not_to():
    A = small(indices=np.array([2, 3, 0]), validate=False)
    with event_ops.validate():
        np.testing.assert_array_equal(small() @ np.ones(3, "f"), DENSE.sum(1))
        with pytest.raises(ValueError, match=r"csr_matvec: indices\[1\] is 3"):
            A @ np.ones(3, "f")
        falling = small(indptr=np.array([0, 3, 1]), validate=False)
        for use in (
            lambda: falling.on_pre(np.negative, np.ones(2, bool)),
            lambda: gspmm(lambda: 1.0, falling),
        ):
            with pytest.raises(ValueError, match=r"matrix_structure: indptr\[2\] is 1"):
                use()


def test_what_a_mode_of_the_operator_allows_is_allowed():
    with event_ops.validate():
        y = scatter_add(np.zeros(3, "f"), np.array([7, -9]), np.ones(2, "f"), mode="clip")
        np.testing.assert_array_equal(y, [1, 0, 1])
        y = segment_sum(np.ones(2, "f"), np.array([-4, 8]), 2, mode="clip", indices_are_sorted=True)
        np.testing.assert_array_equal(y, [1, 1])


def test_what_does_not_fit_is_said_by_the_operator_as_without_the_mode():
    with event_ops.validate():
        for changes, error, match in (
            ({"indices": np.ones(3, "f")}, TypeError, "indices has dtype float32"),
            ({"shape": (2, np.nan)}, ValueError, "expected two integers"),
            ({"shape": None}, ValueError, "expected two integers"),
            ({"indptr": np.zeros((2, 2), np.int32)}, ValueError, "indptr"),
        ):
            with pytest.raises(error, match=match):
                csr_matvec(**(MATVEC | changes))


@pytest.mark.parametrize(
    "shape", [(np.nan, 3), (2, np.inf), (2.5, 3), ("2", 3), (-1, 3), (2,), (2, 3, 1), (2**70, 3)]
)
def test_sizes_that_are_none_are_refused_always(shape):
    with pytest.raises(ValueError, match="shape"):
        csr_matvec(**(MATVEC | {"shape": shape}))


@pytest.mark.parametrize(("value", "expected"), [("0", "False False"), ("1", "True True")])
def test_the_environment_decides(value, expected):
    code = "from event_ops.checks import values as v; print(v.is_on(), v.debug.is_on())"
    printed = child_python.output("-c", code, EVENT_OPS_VALIDATE=value, FFI_BRIDGE_DEBUG="0")
    assert printed.strip() == expected


def test_a_program_in_the_mode_is_not_exported():
    product = jax.jit(lambda indices: csr_matvec(**(MATVEC | {"indices": indices}), backend="reference"))
    like = jax.ShapeDtypeStruct((3,), np.int32)
    jax.export.export(product)(like).serialize()
    with event_ops.validate(), pytest.raises(ValueError, match="custom calls"):
        jax.export.export(product)(like)
