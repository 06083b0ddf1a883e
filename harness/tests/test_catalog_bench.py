"""The benchmark of the catalog covers every operator, and what it says of memory and ratios is right."""

import dataclasses
import functools
import json
import re
import shlex
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from other_pytest import run_benchmark, run_pytest

from event_ops.cases import BENCHMARK
from event_ops.discover import operators
from event_ops_harness.bench import __main__ as bench
from event_ops_harness.bench import interleaved, members, rivals, steps, traffic
from event_ops_harness.bench.suites import test_catalog
from event_ops_harness.bench.timing import times_per_step
from event_ops_harness.results import machine

OPERATORS = {operator.name: operator for operator in operators()}
ALWAYS = {"jax", "numpy", "scipy"}  # dependencies of the harness
F4 = np.float32


def problem_of(name: str, case: str = "") -> steps.Problem:
    """The named case, or the first one."""
    operator = OPERATORS[name]
    found = next(x for x in operator.cases if case in ("", x.name))
    return steps.make_problem(operator, found)


def moved(name: str, *args: object, **kwargs: object) -> int:
    return traffic.bytes_moved(OPERATORS[name], args, kwargs)


def test_rivals_are_of_operators_and_skipped_only_where_a_library_is_missing():
    offers, skipped = rivals.libraries()
    assert offers.keys() >= ALWAYS and not any("event_ops" in reason for reason in skipped.values())
    assert {name for offer in offers.values() for name in offer} <= set(OPERATORS)


def test_what_an_operator_is_linear_in_and_carries_are_its_floats_and_outputs():
    for operator in OPERATORS.values():
        problem = problem_of(operator.name)
        outs = jax.tree.leaves(
            jax.eval_shape(functools.partial(operator.function, **problem.kwargs), *problem.args)
        )
        for position, out in operator.bench.carried.items():
            state = problem.args[position]
            assert (state.shape, state.dtype) == (outs[out].shape, outs[out].dtype)
        linear = [np.asarray(problem.args[position]).dtype.kind for position in operator.bench.linear]
        assert set(linear) <= {"b", "f"}  # events are numbers where a gradient is by them


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_benchmark_cases_and_a_traffic_within_its_arrays(name: str):
    assert OPERATORS[name].tagged(BENCHMARK)
    problem = problem_of(name)
    outs = jax.eval_shape(functools.partial(problem.operator.function, **problem.kwargs), *problem.args)
    everything = sum(x.size * x.dtype.itemsize for x in (*problem.args, *jax.tree.leaves(outs)))
    assert 0 < traffic.bytes_moved(problem.operator, problem.args, problem.kwargs) <= everything


# Rows of 2, 3 and 1 entries.
CSR = (np.ones(6, F4), np.array([0, 1, 0, 2, 3, 1], np.int32), np.array([0, 2, 5, 6], np.int32))


@pytest.mark.parametrize(
    ("encoding", "events"),
    [
        ("flags", np.array([False, True, True])),
        ("ids", np.array([2, 9, 1, -1], np.int32)),
        ("bits", np.array([6], np.uint32)),
    ],
)
def test_event_product_counts_entries_of_active_rows(encoding: str, events: np.ndarray):
    options = {"shape": (3, 4), "transpose": True, "encoding": encoding}
    transposed = moved("csr_event_matvec", *CSR, events, **options)
    assert transposed == 4 * (4 + 4) + 4 * 4 + events.nbytes + 4 * 4  # entries, ends of rows, events, y
    assert transposed - moved("csr_event_matvec", F4(1), *CSR[1:], events, **options) == 4 * 4


def test_event_product_by_rows_counts_every_index_and_the_weights_that_events_meet():
    events = np.array([False, True, False, True])
    assert moved("csr_event_matvec", *CSR, events, shape=(3, 4)) == 6 * 4 + 4 * 4 + 3 * 4 + 4 + 3 * 4


def test_traffic_of_other_layouts():
    flags = np.array([True, False])
    assert moved("dense_event_matvec", np.ones((3, 2), F4), flags) == 3 * 4 + 2 + 3 * 4
    assert moved("dense_event_matmat", np.ones((3, 2), F4), flags[:, None]) == 3 * 4 + 2 + 3 * 4
    assert moved("read_slot", np.ones((9, 5), F4), np.int32(0)) == 3 * 5 * 4
    assert moved("trace_decay", np.ones(2, F4), flags, tau=5.0, dt=0.1) == 8 + 2 + 8
    rule = {"shape": (3, 4), "A_minus": 0.1, "w_min": 0.0, "w_max": 1.0}
    spikes, trace = np.array([False, False, True]), np.ones(4, F4)
    assert moved("stdp_on_pre", *CSR, spikes, trace, **rule) == 3 + 2 * 4 + 3 * 4 + 4  # w twice, index, trace


@pytest.mark.parametrize("turning", [False, True])
@pytest.mark.parametrize(
    "name", ["lif_step", "csr_event_deliver", "read_slot", "csr_event_matvec", "normal_input"]
)
def test_steps_of_a_loop_do_what_so_many_calls_do(name: str, turning: bool):
    """So does who comes next, from the same state, in the same memory."""
    problem = problem_of(name)
    if turning and problem.varying is None:
        pytest.skip("no events")
    problem = dataclasses.replace(problem, turning=turning)
    function = functools.partial(problem.operator.function, backend="reference", **problem.kwargs)
    args = list(problem.args)
    for t in range(3):
        if problem.varying is not None:
            args[problem.varying] = np.roll(problem.bank[t], -t * steps.TURN if turning else 0)
        if problem.counted is not None:
            args[problem.counted] = problem.args[problem.counted] + np.int32(t)
        outs = jax.tree.leaves(function(*args))
        for position, out in problem.carried.items():
            args[position] = outs[out]
    pointers = []
    for member in (steps.steps_of(problem, function), steps.steps_of(problem, function)):
        found = member.run(3)
        pointers.append([x.unsafe_buffer_pointer() for x in found])
        for looped, out in zip(found, outs, strict=True):
            np.testing.assert_allclose(looped, out, rtol=1e-5, atol=1e-5)
    assert pointers[0] == pointers[1]


COMPUTED = {
    (name, rival): operator.tagged(BENCHMARK)[0].name
    for name, operator in OPERATORS.items()
    for rival in rivals.rivals_of(name)
}


@pytest.mark.slow_cases(
    "ell_event_matvec",
    "procedural_event_matvec",
    "procedural_event_matmat",
    "compact_event_matvec",
    "csr_event_matmat",
)
@pytest.mark.parametrize(("name", "rival"), COMPUTED)
def test_rivals_compute_the_same(name: str, rival: str):
    problem = problem_of(name, COMPUTED[name, rival])
    made = rivals.rivals_of(name)[rival](problem)
    if made is None or made.values is None:
        pytest.skip("does not compute this case, or not the same matrix")
    expected = problem.operator.function(*problem.args, backend="reference", **problem.kwargs)
    rtol = 2 * problem.case.relative_tolerance(problem.operator.dtypes[0])
    assert interleaved.difference(expected, made.values(made.run(1)), rtol) is None


def test_no_rival_takes_spike_ids():
    operator = OPERATORS["csr_event_matvec"]
    case = next(x for x in operator.cases if x.name == "spike-ids")
    backends = members.backends_of(operator)
    assert tuple(members.members_of(operator, case, backends)) == backends


def test_gradients_are_of_the_last_case_of_each_orientation():
    names = [case.name for case in test_catalog.gradient_cases(OPERATORS["csr_event_matmat"])]
    assert names == ["100k-100-n32-1.00%", "100k-100-n32-1.00%-transposed"]
    assert test_catalog.gradient_cases(OPERATORS["trace_decay"]) == []


@pytest.mark.slow
def test_gradients_are_by_all_that_an_operator_is_linear_in_and_events_count_as_numbers():
    operator = OPERATORS["csr_event_matvec"]
    gradient = test_catalog.gradient_of(operator, operator.tagged(BENCHMARK)[0])
    result, slopes = gradient["value_and_grad"].run(1)
    data, *_, events = problem_of(operator.name, operator.tagged(BENCHMARK)[0].name).args
    assert operator.bench.linear == (0, 3) and events.dtype == bool
    assert float(result) == pytest.approx(float(gradient["value"].run(1))) and float(result) > 0
    assert [x.shape for x in slopes] == [np.shape(data), events.shape]


def test_slow_work_is_timed_once_and_short_work_fills_its_share():
    clock = [0.0]

    def slow(times: int) -> None:
        calls.append(times)
        clock[0] += 10 * times

    calls: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: clock[0])
        assert times_per_step({"slow": slow}, rounds=5, budget=5, at_least=0) == {"slow": [10]}
        assert calls == [1, 1]
        calls.clear()
        assert times_per_step({"slow": slow}, rounds=5, budget=1, at_least=0) == {"slow": [10]}
        assert calls == [1]
        calls.clear()
        assert times_per_step({"slow": slow}, rounds=2, budget=100)["slow"] == [10, 10]
        assert calls == [1, 1, 5, 5, 5]  # warm-up, two to find that 5 steps fill 50 s, two turns
        calls.clear()
        assert times_per_step({"slow": slow}, rounds=2, budget=400)["slow"] == [10, 10]
        assert calls == [1, 1, 20, 2, 20, 2, 20]  # each turn with a warm-up


@pytest.mark.slow
def test_a_file_is_true_on_other_machines_and_names_its_command(tmp_path):
    output, chosen = tmp_path / "catalog.json", "spike_detect_reset-4k or gradient and ell_event"
    words = ["catalog", "-k", chosen, "--benchmark-max-time", "0.01"]
    done, result = run_benchmark(output, *words)
    assert "benchmark 'spike_detect_reset 4k float32'" in done.stdout, done.stdout + done.stderr
    assert len(output.read_text().splitlines()) == len(result["benchmarks"]) + 2
    assert result["command"] == f"nox -s bench -- {shlex.join(words)}"
    assert result["machine_info"] == machine() and not {"project", "branch"} & set(result["commit_info"])
    entries = {(entry["group"], entry["name"]): entry for entry in result["benchmarks"]}
    info = entries["spike_detect_reset 4k float32", "numba_cpu"]["extra_info"]
    assert info["ours"] and info["rival"] == "reference" and info["low"] <= info["ratio"] <= info["high"]
    assert (info["operator"], info["per"]) == ("spike_detect_reset", "step")
    assert {"jax", "numba"} <= set(result["machine_info"])
    assert info["bytes"] == 4000 * 9 and info["share"] > 0
    gradient = entries["gradient of ell_event_matvec 100000-100-1.00% float32", "value_and_grad"]
    assert gradient["extra_info"]["rival"] == "value" and "options" not in gradient


@pytest.mark.slow
def test_operators_of_another_package_and_of_a_new_folder(tmp_path):
    axpy = Path(__file__).parents[1] / "conformance" / "axpy"
    shutil.copytree(axpy, tmp_path / "found" / "axpy", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "ours.py").write_text(FOUND)
    output = tmp_path / "found.json"
    words = ("--operators", "ours", "--operators", "leaky_ops.conformance", "--benchmark-only")
    done = run_pytest(tmp_path, *words, "--benchmark-max-time", "0.01", "--benchmark-json", str(output))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it is about none of these operators" in done.stdout
    entries = json.loads(output.read_text())["benchmarks"]
    assert {entry["extra_info"]["operator"] for entry in entries} == {"axpy", "leaky_sum"}
    assert {entry["name"] for entry in entries} >= {"numba_cpu", "reference"}
    for entry in entries[:2]:
        assert entry["extra_info"]["bytes"] == 4 + 3 * 4_000_000
    assert "leaky_sum 100000 float32: numba_cpu, " in done.stdout


FOUND = """
from pathlib import Path
import event_ops.catalog
from event_ops.discover import operators

event_ops.catalog.__path__ = [str(Path(__file__).parent / "found")]
OPERATORS = operators.__wrapped__()
"""


def test_an_operator_without_a_case_to_measure_is_an_error(monkeypatch: pytest.MonkeyPatch):
    bare = dataclasses.replace(OPERATORS["trace_decay"], cases=())
    monkeypatch.setattr(test_catalog, "operators", lambda: (bare,))
    with pytest.raises(
        pytest.UsageError, match=re.escape("trace_decay has no case to measure; tag one: Case(")
    ):
        test_catalog.operators_of([])


def test_an_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]):
    assert bench.main(["catalogue"]) == 2
    assert (
        "no benchmark named 'catalogue': choose one of brainevent, call, catalog" in capsys.readouterr().err
    )


@pytest.mark.parametrize("text", ["0", "4000,-1"])
def test_sizes_that_are_none_are_refused(text: str):
    with pytest.raises(ValueError, match="expected numbers greater than 0"):
        bench.numbers(text)


def test_figures_in_files_have_as_many_digits_as_they_mean():
    assert bench.rounded({"a": [1.23456789e-6, True, "x"], "b": 12345678}) == {
        "a": [1.2346e-6, True, "x"],
        "b": 12345678,
    }
