"""In the debug mode a kernel that writes beside its outputs, or leaves some unwritten, is found."""

import json
from pathlib import Path

import child_python
import pytest

from ffi_bridge import debug

pytestmark = pytest.mark.promise(4)

PROGRAM = Path(__file__).with_name("in_debug_mode.py")


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("warp", reason="Warp is not installed")
    printed = child_python.output(PROGRAM, FFI_BRIDGE_DEBUG="1", NUMBA_NUM_THREADS="4")
    return json.loads(printed.splitlines()[-1])


@pytest.mark.parametrize("name", ["behind", "in_threads", "behind of a batch", "in_threads of a batch"])
def test_writes_behind_an_output_are_errors(found, name):
    kernel = name.split()[0]
    assert found[name] == f"INTERNAL: kernel '{kernel}' wrote behind its output 'y'"


@pytest.mark.parametrize("name", ["6 in place", "6 in place of a batch"])
def test_outputs_in_place_of_inputs_are_guarded(found, name):
    assert found[name] == "INTERNAL: kernel 'behind_in_place' wrote behind its output 'y'"


@pytest.mark.parametrize("name", ["before", "before of a batch"])
def test_writes_before_an_output_are_errors(found, name):
    assert found[name] == "INTERNAL: kernel 'before' wrote before its output 'y'"


@pytest.mark.parametrize("side", ["before", "behind"])
def test_outputs_of_every_size_have_canaries_as_far_as_that(found, side):
    assert found[f"far_{side}"] == [f"INTERNAL: kernel 'far_{side}' wrote {side} its output 'y'"]


@pytest.mark.parametrize("name", ["adds_to_one", "adds_to_one of a batch"])
def test_different_values_for_one_element_are_a_race(found, name):
    said = "kernel 'adds_to_one' races: two shares of a parallel loop wrote different values to one element"
    assert found[name] == f"INTERNAL: {said} of its output 'y'"


def test_terms_are_lost_and_neighbours_not_there_yet_where_shares_meet(found):
    assert found["reads_a_neighbour"] == [1, 2, -99, -99, -99]
    assert found["counts"] == [1]  # of 4


def test_shares_run_in_many_orders(found):
    orders = found["orders"]
    assert len(orders) > 4 and [1, 2, 3, 4, 5] in orders


def test_right_parallel_kernels_stay_right(found):
    assert found["in_parallel"] == [[12, 13, 14, 15, 16]] * 40
    assert found["in_parallel of a batch"] == [[12, 13, 14, 15, 16], [22, 24, 26, 28, 30]]
    assert found["in_parallel of nothing"] == [0]
    assert found["in_parallel_in_place"] == [0, 4, 8, 12, 16]


def test_warp_kernels_are_guarded_too(found):
    assert found["behind_in_warp"] == "INTERNAL: kernel 'behind_in_warp' wrote behind its output 'y'"
    assert found["right_in_warp"] == [0, 1, 2, -99, -99]


@pytest.mark.parametrize("name", ["into_an_input", "into_an_input_in_parallel", "into_an_input_in_warp"])
def test_inputs_that_change_are_named_and_put_back(found, name):
    said = f"INTERNAL: kernel '{name}' wrote into its input 'x'; JAX's arrays never change"
    message, values = found[name]
    assert message.startswith(said) and values == [0, 1, 2, 3, 4]


def test_unwritten_elements_are_nan_or_all_bits_set(found):
    assert found["unwritten"] == [1, -99, -99, -99, -99]
    assert found["integers"] == [[1, -1], [255, 255]]


def test_what_is_right_stays_right(found):
    assert found["right"] == [0, 1, 2, 3, 4]
    assert found["right of a batch"] == [[0, 1, 2, 3, 4]] * 2
    assert found["in_place"] == [7, 1, 2, 3, 4]
    assert found["5 in place"] == [2, 4, 5, 6, 7]
    assert found["5 in place of a batch"] == [[2, 4, 5, 6, 7], [4, 7, 8, 9, 10]]
    assert found["empty"] == []


def test_exceptions_arrive_and_leave_no_memory_behind(found):
    assert found["raises"] == "INTERNAL: kernel 'raises' raised ValueError: no"
    assert found["kilobytes"] < 100_000  # a hundred outputs of 4 MB


@pytest.mark.parametrize(("value", "on"), [("", False), ("0", False), ("1", True)])
def test_the_environment_decides(monkeypatch, value, on):
    monkeypatch.setenv("FFI_BRIDGE_DEBUG", value)
    assert debug.set_by_environment.__wrapped__() is on
