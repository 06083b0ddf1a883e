"""`tune`: which rows follow from which times, what is measured, and that the bridge obeys what is written."""

import argparse
import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from event_ops.cases import BENCHMARK, CONFORMANCE, Case
from event_ops.discover import Operator, operators
from event_ops_harness.bench import tune, tuned_rows
from event_ops_harness.bench.steps import make_problem
from event_ops_harness.bench.tuned_rows import Measured
from ffi_bridge import XLACustomKernel
from ffi_bridge.operators import tuning

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="the tables of these tests are those of a CPU"
)

OPERATORS = {operator.name: operator for operator in operators()}
OPTIONS = argparse.Namespace(rounds=8, budget=0.1)
WORDS = ["--rounds", "8", "--budget", "0.1"]


def measured(elements: int, case: str = "", **leads: dict[str, float]) -> Measured:
    signature = tuning.Signature("float32 -> float32", ("exact=True",), elements)
    return Measured("op", "cpu", signature, case or str(elements), "first", leads)


def intervals(*found: Measured) -> list[tuple[Any, ...]]:
    return [(row["backend"], row["above"], row["up_to"], row["ratio"]) for row in tuned_rows.rows_of(found)]


def test_rows_meet_between_the_sizes_and_reach_little_beyond_their_own():
    small, large = measured(100, a={"": 2.0}), measured(10_000, b={"": 3.0})
    assert intervals(large, small) == [("a", 25, 400, 2.0), ("b", 2500, 40_000, 3.0)]
    assert intervals(small, measured(10_000)) == [("a", 25, 400, 2.0)]
    assert intervals(measured(100), measured(400, a={"": 2.0}), measured(1600)) == [("a", 200, 800, 2.0)]
    assert intervals(small, measured(10_000, a={"": 3.0})) == [("a", 25, 40_000, 2.0)]


def test_neighbours_with_one_backend_are_one_row_with_the_smallest_lead():
    rows = tuned_rows.rows_of([measured(100, a={"": 2.0, "density 1": 1.5}), measured(400, a={"": 3.0})])
    assert [(row["above"], row["up_to"], row["ratio"]) for row in rows] == [(25, 1600, 1.5)]
    assert rows[0]["measured"] == {"100": 2.0, "100 density 1": 1.5, "400": 3.0}
    assert intervals(measured(1, a={"": 2.0}), measured(4), measured(16, a={"": 2.0})) == [
        ("a", 0, 2, 2.0),
        ("a", 8, 64, 2.0),
    ]


def test_every_case_of_a_size_decides_and_the_smallest_lead_counts():
    assert intervals(measured(100, "sparse", a={"": 9.0}), measured(100, "dense")) == []
    both = {"a": {"": 9.0, "density 1": 1.2}, "b": {"": 1.5, "density 1": 1.4}}
    assert intervals(measured(100, **both)) == [("b", 25, 400, 1.4)]


def test_signatures_have_rows_of_their_own():
    other = replace(measured(10_000), signature=tuning.Signature("int32 -> int32", (), 10_000))
    assert intervals(measured(100, a={"": 2.0}), other) == [("a", 25, 400, 2.0)]


def test_a_lead_is_beyond_noise_and_a_tenth():
    assert tuned_rows.lead([2.0, 2.1, 2.2, 2.3], [1.0, 1.1, 1.05, 1.0]) == pytest.approx(2.15 / 1.025)
    assert tuned_rows.lead([1.0, 1.0, 1.0, 1.0], [0.95, 0.95, 0.95, 0.95]) is None
    assert tuned_rows.lead([2.0, 2.1, 2.2, 0.9], [1.0, 1.1, 1.05, 1.0]) is None


@pytest.mark.parametrize("name", ["csr_event_matvec", "lif_step", "pack_events"])
def test_the_signature_is_that_of_the_call_which_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch):
    operator, seen = OPERATORS[name], []
    of = tuning.Signature.of
    problem = make_problem(operator, operator.cases[0])
    expected = tuned_rows.signature_of(problem)
    row = tuning.Row(name, "cpu", "", (), 0, None, "reference", "", 2.0, "cpu")
    monkeypatch.setitem(tuning._TABLES, ("event_ops:tuning", "cpu"), (row,))
    monkeypatch.setattr(
        tuning.Signature, "of", lambda static, ins, outs: seen.append(of(static, ins, outs)) or seen[-1]
    )
    function = functools.partial(operator.function, **problem.kwargs)
    jax.jit(function).lower(*problem.args)
    assert seen == [expected] and expected.elements


def test_small_cases_stand_beside_the_benchmarks_of_their_signature():
    names = [case.name for case in tuned_rows.cases(OPERATORS["spike_detect_reset"])]
    assert names == ["4k", "100k", "1M", "random"]  # not "each", as small; nor "empty"
    mixed = [case.name for case in tuned_rows.cases(OPERATORS["segment_sum"])]
    assert {"random", "threads-sorted"} <= set(mixed) and not {"clip", "no-data"} & set(mixed)


@pytest.mark.parametrize("case", ["random", "random-float", "packed"])
def test_densities_make_events_anew(case: str):
    operator = OPERATORS["csr_event_matvec"]
    problem = make_problem(operator, next(x for x in operator.cases if x.name == case))
    found = dict(tuned_rows.at_densities(problem))
    assert list(found) == ["", "density 0.001", "density 0.01", "density 0.1", "density 1"]
    assert found[""] is problem
    full, given = found["density 1"].args[3], problem.args[3]
    assert (full.dtype, full.shape) == (given.dtype, given.shape)
    assert np.all(full == np.iinfo(np.uint32).max if case == "packed" else full == 1)
    for position in (0, 1, 2):
        assert found["density 1"].args[position] is problem.args[position]


def test_spike_ids_are_measured_as_they_are():
    operator = OPERATORS["csr_event_matvec"]
    problem = make_problem(operator, next(x for x in operator.cases if x.name == "spike-ids"))
    assert list(dict(tuned_rows.at_densities(problem))) == [""]


Body = Callable[[jax.Array], jax.Array]


def slow(x: jax.Array) -> jax.Array:
    """x + 1 after much else."""
    return jax.lax.fori_loop(0, 400, lambda _, y: jax.numpy.sin(y) * 0, x) * 0 + x + 1


def operator_of(name: str, **bodies: Body) -> Operator:
    kernel = XLACustomKernel(name)
    for backend, body in bodies.items():
        kernel.def_kernel(backend, "cpu", lambda body=body, **_: body)

    def function(x: Any, *, backend: str | None = None) -> jax.Array:
        return kernel(x, outs=jax.ShapeDtypeStruct(x.shape, x.dtype), backend=backend)

    both = frozenset({BENCHMARK, CONFORMANCE})
    cases = tuple(
        Case(str(size), lambda rng, dtype, _, size=size: ((rng.random(size).astype(dtype),), {}), both)
        for size in (64, 4096)
    )
    return Operator(name, function, kernel, ("float32",), cases)


def test_a_faster_backend_leads_and_a_wrong_one_is_left_out():
    said: list[str] = []
    operator = operator_of("tuned_fast", first=slow, wrong=lambda x: x, reference=lambda x: x + 1)
    operator.kernel.set_default("cpu", "first")
    found = tune.measure(make_problem(operator, operator.cases[1]), "cpu", OPTIONS, said.append)
    assert found.over == "first" and set(found.leads) == {"reference"} and found.leads["reference"][""] > 1.1
    assert len(said) == 1
    assert said[0].startswith("tuned_fast 4096 float32: wrong is left out: the output is wrong")
    reversed_ = operator_of("tuned_slow", first=lambda x: x + 1, reference=slow)
    reversed_.kernel.set_default("cpu", "first")
    assert tune.measure(make_problem(reversed_, reversed_.cases[1]), "cpu", OPTIONS, said.append).leads == {}


def test_the_bridge_obeys_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    operator = operator_of("tuned_obeyed", reference=slow, fast=lambda x: x + 1)
    monkeypatch.setattr(tune, "operators", lambda: (operator,))
    file = tmp_path / "cpu.json"
    assert tune.main([*WORDS, "--only", "tuned_obeyed", "--output", str(file)]) == 0
    table = json.loads(file.read_text())
    assert table["command"] == "nox -s tune -- --rounds 8 --budget 0.1 --only tuned_obeyed"
    assert {"date", "commit", "machine"} <= set(table)
    (row,) = table["rows"]
    assert (row["above"], row["up_to"], row["backend"], row["over"]) == (32, 32768, "fast", "reference")
    assert row["ratio"] == min(row["measured"].values()) and set(row["measured"]) == {"64", "4096"}
    x = np.zeros(500, np.float32)
    before = operator.kernel.explain(x, outs=x)
    operator.kernel.def_tuning(tmp_path)
    after = operator.kernel.explain(x, outs=x)
    assert (
        before.backend == "reference"
        and after.backend == "fast"
        and after.why.startswith("tuned: 33 to 32768 elements")
    )
    assert "sine" not in jax.jit(operator.function).lower(x).as_text()


@pytest.mark.slow
def test_an_operator_of_the_catalog_is_tuned_and_read(tmp_path: Path):
    pytest.importorskip("numba", reason="with one backend there is nothing to choose")
    file = tmp_path / "cpu.json"
    assert tune.main([*WORDS, "--only", "spike_detect_reset", "--output", str(file)]) == 0
    for row in tuning.parse(file.read_text(), "cpu"):
        assert row.operator == "spike_detect_reset" and row.backend != row.over and row.ratio > 1


@pytest.mark.parametrize(
    "words", [["--only", "no_such"], ["--rounds", "3"], ["--budget", "0"], ["--only", "lif_step"]]
)
def test_bad_options_stop_with_exit_code_2(words: list[str]):
    with pytest.raises(SystemExit) as stop:
        tune.main(words)
    assert stop.value.code == 2


def test_outside_of_a_source_checkout_a_file_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tune, "PACKAGE", tmp_path / "event_ops")
    with pytest.raises(SystemExit) as stop:
        tune.main([])
    assert stop.value.code == 2
