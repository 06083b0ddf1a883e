"""The benchmark of the catalog covers every operator, and what it says of memory and ratios is right."""

import dataclasses
import functools
import json
import re
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

import event_ops.catalog
from event_ops.cases import BENCHMARK
from event_ops.discover import operators
from event_ops_harness.bench import catalog, catalog_table, gradients, rivals, steps, traffic
from event_ops_harness.bench.catalog_table import verdicts
from event_ops_harness.bench.gradients import Gradient
from event_ops_harness.bench.timing import seconds_per_step
from event_ops_harness.results import Row

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
        numbers = gradients.with_float_events(problem)
        assert all(np.asarray(numbers[position]).dtype.kind == "f" for position in operator.bench.linear)


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
    assert moved("read_slot", np.ones((9, 5), F4), np.int32(0)) == 3 * 5 * 4
    assert moved("trace_decay", np.ones(2, F4), flags, tau=5.0, dt=0.1) == 8 + 2 + 8
    rule = {"shape": (3, 4), "A_minus": 0.1, "w_min": 0.0, "w_max": 1.0}
    spikes, trace = np.array([False, False, True]), np.ones(4, F4)
    assert moved("stdp_on_pre", *CSR, spikes, trace, **rule) == 3 + 2 * 4 + 3 * 4 + 4  # w twice, index, trace


@pytest.mark.parametrize("name", ["lif_step", "csr_event_deliver", "read_slot", "csr_event_matvec"])
def test_loop_does_what_so_many_calls_do(name: str):
    problem = problem_of(name)
    function = functools.partial(problem.operator.function, backend="reference", **problem.kwargs)
    args = list(problem.args)
    for t in range(3):
        if problem.varying is not None:
            args[problem.varying] = problem.bank[t]
        outs = jax.tree.leaves(function(*args))
        for position, out in problem.carried.items():
            args[position] = outs[out]
    shapes = jax.tree.leaves(jax.eval_shape(function, *problem.args))
    replaced = {*problem.carried, problem.varying}
    fixed = [None if i in replaced else x for i, x in enumerate(problem.args)]
    bank = None if problem.varying is None else problem.bank
    held, others = steps.loop_of(problem, function)(steps.start(problem, shapes), fixed, bank, 0, 3)
    looped = dict(
        zip((i for i in range(len(outs)) if i not in problem.carried.values()), others, strict=True)
    )
    looped |= {out: held[position] for position, out in problem.carried.items()}
    for i, out in enumerate(outs):
        np.testing.assert_allclose(looped[i], out, rtol=1e-5, atol=1e-5)


COMPUTED = [
    *(("csr_matmat", ""), ("csr_todense", ""), ("dense_event_matvec", ""), ("ell_matvec", "")),
    *(("csr_matvec", name) for name in ("random", "random-transposed")),
    *(("scatter_add", ""), ("segment_sum", "")),
]


@pytest.mark.parametrize(("name", "case"), COMPUTED)
def test_rivals_compute_the_same(name: str, case: str):
    problem = problem_of(name, case)
    expected = problem.operator.function(*problem.args, backend="reference", **problem.kwargs)
    found = rivals.rivals_of(dataclasses.replace(problem, varying=None))
    assert found
    for rival, run in found.items():
        result = run(1)
        dense = result.to_dense(fill_value=0) if hasattr(result, "to_dense") else result
        np.testing.assert_allclose(dense, expected, rtol=1e-3, atol=1e-4, err_msg=rival)


def test_no_rival_takes_spike_ids():
    assert rivals.rivals_of(problem_of("csr_event_matvec", "spike-ids")) == {}


def test_gradients_are_by_all_floats_and_events_count_as_such():
    problem = problem_of("csr_event_matvec")
    positions, value, both = gradients.functions(problem)
    args = gradients.with_float_events(problem)
    assert positions == (0, 3) and problem.args[3].dtype == bool
    result, slopes = jax.eval_shape(both, *args)
    assert result.shape == () and result == jax.eval_shape(value, *args)
    assert [x.shape for x in slopes] == [args[0].shape, args[3].shape]


def test_gradients_take_the_largest_case_of_each_orientation():
    names = ("random", "random-transposed", "threads", "threads-transposed", "random-transposed-float-one")
    largest: dict[bool, steps.Problem] = {}
    for name in names:
        gradients.keep_largest(largest, problem_of("csr_event_matmat", name))
    gradients.keep_largest(largest, problem_of("trace_decay"))
    assert {x.case.name for x in largest.values()} == {"threads", "threads-transposed"}


def test_slow_work_is_timed_once_and_short_work_fills_its_share():
    clock = [0.0]

    def slow(times: int) -> None:
        calls.append(times)
        clock[0] += 10 * times

    calls: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.perf_counter", lambda: clock[0])
        assert seconds_per_step({"slow": slow}, rounds=5, budget=5, at_least=0) == {"slow": 10}
        assert calls == [1, 1]
        calls.clear()
        assert seconds_per_step({"slow": slow}, rounds=5, budget=1, at_least=0) == {"slow": 10}
        assert calls == [1]
        calls.clear()
        assert seconds_per_step({"slow": slow}, rounds=2, budget=100)["slow"] == 10
        assert calls == [1, 1, 5, 5, 5]  # warm-up, two to find that 5 steps fill 50 s, two turns


def rows_of(**seconds: float) -> list[Row]:
    """One case on three backends, the first is the default, beside a peer."""
    more = {"operator": "op", "per": "call", "share": 0.5}
    default = next(iter(seconds))
    return [
        Row("op case", name, time, default, more | {"ours": name != "SciPy"})
        for name, time in seconds.items()
    ]


def test_verdicts_name_a_default_that_is_not_the_fastest():
    assert verdicts(rows_of(numba_cpu=1.0, warp=0.95, reference=3.0, SciPy=0.1), []) == []
    (line,) = verdicts(rows_of(numba_cpu=1.0, warp=0.5, reference=0.9), [])
    assert "numba_cpu, the default, takes 2.00 x the time of warp" in line
    (line,) = verdicts(rows_of(numba_cpu=1.0, warp=0.92, reference=0.95), [])
    assert "1.05 x the time of reference" in line


def test_verdicts_name_gradients_beyond_the_target():
    cheap, dear = Gradient("op small", (0,), 1.0, 3.4), Gradient("op large", (0,), 1.0, 3.6)
    (line,) = verdicts([], [cheap, dear])
    assert line.startswith("op large: value_and_grad takes 3.60 x")


def test_table_shows_the_best_peer_beside_the_default(capsys: pytest.CaptureFixture[str]):
    rows = rows_of(numba_cpu=2e-6, reference=8e-6, SciPy=3e-6)
    catalog_table.show(catalog.Console(width=120), rows, [])
    shown = capsys.readouterr().out
    assert "8 (4x)" in shown and "3 (1.5x) SciPy" in shown and "50%" in shown


def test_result_file(tmp_path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("numba", reason="the triad is a Numba kernel")
    monkeypatch.setattr(traffic, "beyond_cache", lambda: 3 << 20)
    output = tmp_path / "catalog.json"
    words = ["--only", "trace_decay", "--backends", "reference", "--budget", "0.01", "--rounds", "1"]
    assert catalog.main([*words, "--output", str(output)]) == 0
    result = json.loads(output.read_text())
    assert [row["rival"] for row in result["rows"]] == ["reference"] * len(result["rows"])
    first = result["rows"][0]
    assert first["share"] == pytest.approx(first["bytes"] / first["us"] / 1e3 / result["triad"][0]["GB/s"])
    assert result["command"].endswith("catalog " + " ".join(words)) and result["gradients"] == []


def test_operators_of_another_package(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys):
    pytest.importorskip("numba", reason="the triad is a Numba kernel")
    monkeypatch.setattr(traffic, "beyond_cache", lambda: 3 << 20)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "examples" / "outside"))
    output = tmp_path / "leaky.json"
    words = ["--operators", "leaky_ops.conformance", "--budget", "0.01", "--rounds", "1"]
    assert catalog.main([*words, "--output", str(output)]) == 0
    rows = json.loads(output.read_text())["rows"]
    assert {row["operator"] for row in rows} == {"leaky_sum"}
    assert {row["rival"] for row in rows} == {"numba_cpu", "reference"}
    assert "leaky_sum 100000" in capsys.readouterr().out


def test_a_new_folder_needs_no_line_in_the_benchmarks(tmp_path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("numba", reason="the triad is a Numba kernel")
    monkeypatch.setattr(traffic, "beyond_cache", lambda: 3 << 20)
    folder = Path(__file__).parents[1] / "conformance" / "axpy"
    shutil.copytree(folder, tmp_path / "axpy", ignore=shutil.ignore_patterns("bench.py", "__pycache__"))
    monkeypatch.setattr(event_ops.catalog, "__path__", [str(tmp_path)])
    monkeypatch.setattr(catalog, "operators", operators.__wrapped__)
    output = tmp_path / "axpy.json"
    assert catalog.main(["--budget", "0.01", "--rounds", "1", "--output", str(output)]) == 0
    result = json.loads(output.read_text())
    assert {row["rival"] for row in result["rows"]} >= {"numba_cpu", "reference"}
    for row in result["rows"]:
        assert (row["operator"], row["per"], row["bytes"]) == ("axpy", "call", 4 + 3 * 4_000_000)
    assert result["gradients"] == []


def test_an_operator_without_a_case_to_measure_is_an_error(monkeypatch: pytest.MonkeyPatch):
    bare = dataclasses.replace(OPERATORS["trace_decay"], cases=())
    monkeypatch.setattr(catalog, "operators", lambda: (bare,))
    with pytest.raises(ValueError, match=re.escape("trace_decay has no case to measure; tag one: Case(")):
        catalog.chosen([], [])


def test_bad_options_stop_with_exit_code_2():
    for words in (["--only", "no_such"], ["--rounds", "0"], ["--budget", "0"]):
        with pytest.raises(SystemExit) as stop:
            catalog.main(words)
        assert stop.value.code == 2
