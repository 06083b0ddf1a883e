"""The operations that benchmarks count for a call are those of the operator's formula."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest

from event_ops.cases import CONFORMANCE, Arguments, Case
from event_ops.discover import operators
from event_ops_harness.bench import traffic

OPERATORS = {operator.name: operator for operator in operators()}
ONLY_MOVE = {"csr_tocsc", "pack_events", "read_slot", "spike_compact", "unpack_events"}
F4 = np.float32

# [[1, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 0]]
STRUCTURE = (np.array([0, 1, 0, 2, 3, 1], np.int32), np.array([0, 2, 5, 6], np.int32))
CSR = (np.ones(6, F4), *STRUCTURE)
FLAGS = np.array([False, True, True])  # of rows of 3 and 1 entries


def operations(name: str, *args: object, **kwargs: object) -> int:
    return traffic.operations(OPERATORS[name], args, kwargs)


def made(name: str, case: Case) -> Arguments:
    return case.make(np.random.default_rng(0), OPERATORS[name].dtypes[0], "int32")


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_have_operations_unless_they_only_move_data(name: str):
    cases = OPERATORS[name].tagged(CONFORMANCE)
    found = [traffic.operations(OPERATORS[name], *made(name, case)) for case in cases]
    assert all(type(count) is int and count >= 0 for count in found)  # a type that JSON has
    assert (max(found) == 0) == (name in ONLY_MOVE)


def test_products_multiply_and_add_for_each_entry_and_column():
    assert operations("csr_matvec", *CSR, np.ones(4, F4), shape=(3, 4)) == 2 * 6
    assert operations("csr_matvec", *CSR, np.ones(3, F4), shape=(3, 4), transpose=True) == 2 * 6
    assert operations("csr_matmat", *CSR, np.ones((4, 5), F4), shape=(3, 4)) == 2 * 6 * 5
    gaps = (np.ones(6, F4), STRUCTURE[0], np.append(STRUCTURE[1], 6))
    assert operations("csr_gap_current", *gaps, np.ones(4, F4), shape=(4, 4)) == 3 * 6  # and subtract
    padded = np.array([[0, 1], [2, 4], [-1, 3]], np.int32)
    assert operations("ell_matvec", np.ones((3, 2), F4), padded, np.ones(4, F4), shape=(3, 4)) == 2 * 4


@pytest.mark.parametrize(
    ("encoding", "events", "found"),
    [
        ("flags", FLAGS, 4),
        ("flags", F4([0, 0.5, -2]), 2 * 4),
        ("ids", np.array([2, 9, 1, -1], np.int32), 4),
        ("ids", np.array([1, 1, 3], np.int32), 2 * 3),
        ("bits", np.array([6], np.uint32), 4),
    ],
)
def test_event_products_add_active_entries_and_multiply_numbers(
    encoding: str, events: np.ndarray, found: int
):
    options = {"shape": (3, 4), "transpose": True, "encoding": encoding}
    assert operations("csr_event_matvec", *CSR, events, **options) == found
    assert operations("csr_event_matvec", F4(1), *STRUCTURE, events, **options) == found


def test_event_products_by_rows_add_the_entries_that_events_meet():
    events = np.array([True, False, False, True])  # in columns of 2 and 1 entries
    assert operations("csr_event_matvec", *CSR, events, shape=(3, 4)) == 3
    assert operations("csr_event_matvec", *CSR, events.astype(F4), shape=(3, 4)) == 2 * 3
    trials = np.array([[True, True], [False, False], [False, False], [False, True]])
    assert operations("csr_event_matmat", *CSR, trials, shape=(3, 4)) == 2 * 2 + 1
    flags = np.array([True, False])
    assert operations("dense_event_matvec", np.ones((3, 2), F4), flags) == 3
    assert operations("dense_event_matvec", np.ones((3, 2), F4), flags.astype(F4)) == 2 * 3
    assert operations("dense_event_matvec", np.ones((3, 2), F4), FLAGS, transpose=True) == 2 * 2
    assert operations("dense_event_matmat", np.ones((3, 4), F4), trials) == 3 * 3


def test_neurons_that_are_held_wait_and_others_integrate():
    neuron = {"tau_m": 20.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -60.0, "t_ref": 2.0, "dt": 0.1}
    V, refractory = np.zeros(3, F4), F4([0, 0.04, 0.1])  # two free, one held
    held = 3  # a comparison; time goes on, to 0 at the least
    free = 1 + 3 + 1  # a comparison, towards V_inf, the threshold
    assert operations("lif_step", V, refractory, F4(0), **neuron) == held + 2 * free
    assert operations("lif_step", V, refractory, V, **neuron) == held + 2 * (free + 1)
    assert operations("lif_step", V, refractory, V, **neuron, jump=V) == held + 2 * (free + 2)
    own = neuron | {"tau_m": np.full(3, 20.0, F4)}  # known before the step
    assert operations("lif_step", V, refractory, V, **own) == held + 2 * (free + 1)
    synapse = neuron | {"tau_syn": 0.5}
    assert operations("lif_expsyn_step", V, refractory, V, **synapse) == held + 1 + 2 * (free + 3)
    adaptive = neuron | {"tau_a": 200.0, "beta": 1.6}
    assert operations("alif_step", V, refractory, V, V, **adaptive) == held + 1 + 2 * (free + 1 + 4)
    assert operations("spike_detect_reset", V, V_th=1.0, V_reset=0.0) == 3


def test_decays_and_what_arrives():
    assert operations("trace_decay", np.ones(3, F4), FLAGS, tau=5.0, dt=0.1) == 3 + 2
    g = np.zeros(4, F4)
    assert operations("expsyn_step", g, *CSR, FLAGS, shape=(3, 4), tau=5.0, dt=0.1) == 4 + 4
    assert operations("poisson_input", F4(1), np.uint32(1), np.int32(1), mean=np.ones(7)) == 3 * 7


def test_weights_change_where_spikes_are_and_are_bounded():
    rule = {"shape": (3, 4), "w_min": 0.0, "w_max": 1.0}
    change = 2 + 2  # rate * trace, the sum, two bounds
    on_pre = "stdp_on_pre", *CSR
    assert operations(*on_pre, FLAGS, np.ones(4, F4), A_minus=0.1, **rule) == change * 4
    assert operations(*on_pre, FLAGS.astype(F4), np.ones(4, F4), A_minus=0.1, **rule) == (change + 1) * 4
    columns = np.array([0, 1, 0, 2, 1, 1], np.int32), np.array([0, 2, 4, 5, 6], np.int32)
    by_column = *columns, np.array([0, 2, 1, 5, 3, 4], np.int32)
    spikes = np.array([True, False, True, False])
    found = operations("stdp_on_post", CSR[0], *by_column, spikes, np.ones(3, F4), A_plus=0.1, **rule)
    assert found == change * 3


def test_sums_at_places_count_what_has_a_place():
    places = np.array([0, -1, 2, 3, -4], np.int32)
    rows = np.ones((5, 2), F4)
    assert operations("scatter_add", np.zeros((3, 2), F4), places, rows) == 3 * 2
    assert operations("scatter_add", np.zeros((3, 2), F4), places, rows, mode="clip") == 5 * 2
    assert operations("segment_sum", rows, places, num_segments=3) == 2 * 2
    assert operations("segment_sum", rows, places, num_segments=3, mode="clip") == 5 * 2


def test_random_matrices_count_the_entries_that_are_expected():
    static = {"prob": 0.5, "shape": (4, 6)}
    seed = np.uint32(1)
    placed, term, weight = 1, 2, 3
    v = np.ones(6, F4)
    assert operations("procedural_matvec", F4(1), seed, v, **static) == 12 * (placed + term)
    uniform = static | {"distribution": "uniform"}
    assert operations("procedural_matvec", F4([0, 1]), seed, v, **uniform) == 12 * (placed + weight + term)
    one = np.array([True, False, False, False])
    assert operations("procedural_event_matvec", F4(1), seed, one, **static, transpose=True) == 3 * (
        placed + 1
    )
    one = np.array([True, *[False] * 5])
    assert operations("procedural_event_matvec", F4(1), seed, one, **static) == 12 * placed + 2
    assert operations("procedural_matmat", F4(1), seed, np.ones((6, 5), F4), **static) == 12 * (
        placed + 5 * term
    )
    two = np.array([[True, True], *[[False, False]] * 5])
    assert operations("procedural_event_matmat", F4(1), seed, two, **static) == 12 * placed + 2 * 2


def test_scaled_rows_count_a_product_for_each_entry_that_a_row_holds():
    data, indptr = np.ones(5, F4), np.array([1, 3, 4])
    assert operations("csr_scale_rows", data, indptr, np.ones(2, F4)) == 3
    assert operations("csr_scale_rows", data, indptr, np.array([True, False])) == 0


def test_what_only_moves_data_counts_nothing():
    assert operations("csr_tocsc", *STRUCTURE, shape=(3, 4)) == 0
    assert operations("pack_events", FLAGS) == 0


# Operators that add up terms -> the factors of a term beside the weight.
SUMS = {
    "csr_event_arrivals": ("history",),
    "csr_event_deliver": ("spikes",),
    "csr_event_matmat": ("events",),
    "csr_event_matvec": ("events",),
    "csr_matmat": ("B",),
    "csr_matvec": ("v",),
    "csr_sddmm": ("X", "Y"),
    "csr_todense": (),
    "dense_event_matmat": ("events",),
    "dense_event_matvec": ("events",),
    "ell_event_matvec": ("events",),
    "ell_matvec": ("v",),
    "scatter_add": (),
    "segment_sum": (),
}


def in_ones(name: str, x: np.ndarray, counts: bool) -> np.ndarray:
    """Return x with 1 for each number, but 0 for what is added to and for events that are inactive."""
    events = name in ("events", "history", "spikes")
    if not jnp.issubdtype(x.dtype, jnp.floating) and not (events and counts):
        return x
    if name in ("buffer", "target"):
        return np.zeros_like(x)
    return (x != 0).astype(x.dtype) if events else np.ones_like(x)


@pytest.mark.parametrize("name", SUMS)
def test_terms_are_as_many_as_the_sum_of_all_results_where_each_term_is_one(name: str):
    operator = OPERATORS[name]
    names = list(inspect.signature(operator.function).parameters)
    for case in operator.tagged(CONFORMANCE):
        # Too large for a loop in Python, or with weights that are missing, which are added as 0.
        if case.name.startswith(("threads", "permuted-out-of-range")):
            continue
        args, kwargs = made(name, case)
        counts = kwargs.get("encoding") == "counts"
        ones = [in_ones(*each, counts) for each in zip(names, args, strict=False)]
        kwargs = {key: value for key, value in kwargs.items() if key != "initial"}
        factors = [counts or ones[names.index(factor)].dtype.kind == "f" for factor in SUMS[name]]
        each = 2 if factors and all(factors) else 1
        found = traffic.operations(operator, ones, kwargs)
        assert found == each * operator.oracle(*ones, **kwargs).astype(float).sum(), case.name


@pytest.mark.parametrize("name", ["stdp_on_pre", "stdp_on_post"])
def test_changes_are_as_many_as_the_sum_of_all_where_each_is_one(name: str):
    operator = OPERATORS[name]
    for case in operator.tagged(CONFORMANCE):
        if case.name == "threads":
            continue
        (w, *structure, spikes, trace), kwargs = made(name, case)
        args = (np.zeros_like(w), *structure, spikes != 0, np.ones_like(trace))
        rule = dict.fromkeys({"A_minus", "A_plus"} & kwargs.keys(), 1.0)
        kwargs = {"shape": kwargs["shape"], **rule, "w_min": -np.inf, "w_max": np.inf}
        changes = np.abs(operator.oracle(*args, **kwargs)).sum()
        assert traffic.operations(operator, args, kwargs) == 4 * changes, case.name
