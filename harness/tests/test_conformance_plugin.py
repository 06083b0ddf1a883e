"""`pytest --operators`: operators of a package outside, cells by their ids, wrong options."""

import json
import re
import shutil
from types import SimpleNamespace

import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from other_pytest import EXAMPLE, python_path, run_pytest

from event_ops_harness.conformance import plugin


@pytest.mark.slow
@pytest.mark.parametrize(
    "properties", ["values,vmap,vjp", pytest.param("", marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_an_outside_package_is_tested_by_its_name(tmp_path, properties):
    outcomes = tmp_path / "cells.json"
    options = ("--operators", "leaky_ops.conformance", "--properties", properties)
    options += ("--cells-json", str(outcomes))
    done = run_pytest(tmp_path, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads(outcomes.read_text())
    assert {cell["status"] for cell in cells} == {"passed"} | ({"skipped"} if not properties else set())
    assert all(cell["reason"] for cell in cells if cell["status"] == "skipped")
    assert {cell["backend"] for cell in cells} == {"numba_cpu", "reference"}


@pytest.mark.slow
def test_one_cell_is_repeated_by_its_id(tmp_path):
    cell = "leaky_sum-numba_cpu-random-float32-jit"
    done = run_pytest(tmp_path, "--operators", "leaky_ops.conformance", "--cell", cell)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def chosen(monkeypatch, **options):
    """The cells of the example that the plugin chooses by these options."""
    monkeypatch.syspath_prepend(EXAMPLE)
    defaults = {"operators": ["leaky_ops.conformance"], "profile": "quick", "properties": "", "cell": None}
    return plugin.chosen_cells(SimpleNamespace(**defaults | options))


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        (
            "cell",
            "leaky_sum-random-float32-jit",
            "no cell is called 'leaky_sum-random-float32-jit'; like it are",
        ),
        ("cell", "?", "no cell is called '?'; --collect-only -q lists them"),
        ("properties", "valeus", "no property is called valeus; there are: values, jit"),
        (
            "operators",
            ["leaky_ops.leaky_sum"],
            "leaky_ops.leaky_sum has no OPERATORS; list its operators there",
        ),
        ("operators", ["leaky_ops.nowhere"], "leaky_ops.nowhere cannot be imported"),
    ],
)
def test_wrong_options_are_errors_that_say_what_there_is(monkeypatch, option, given, said):
    with pytest.raises(pytest.UsageError, match=re.escape(f"--{option}: {said}")):
        chosen(monkeypatch, **{option: given})


def test_a_cell_of_the_full_profile_is_found_by_its_id(monkeypatch):
    cell = "leaky_sum-reference-empty-float32-nan"
    assert cell not in [cell.id for _, cell in chosen(monkeypatch)["leaky_ops.conformance"]]
    ((_, found),) = chosen(monkeypatch, cell=cell)["leaky_ops.conformance"]
    assert found.id == cell


@pytest.mark.slow
def test_a_wrong_option_ends_pytest(tmp_path):
    done = run_pytest(tmp_path, "--operators", "leaky_ops.conformance", "--cell", "nope")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.startswith("ERROR: --cell: no cell is called 'nope'"), done.stdout + done.stderr


@pytest.mark.slow_cases("copied out of the clone")
@pytest.mark.parametrize("inside", [False, True], ids=["copied out of the clone", "in the clone"])
def test_the_example_needs_nothing_that_the_tests_of_the_clone_need(tmp_path, inside):
    """The clone's conftest.py imports hypothesis; the kit may be installed below it."""
    (tmp_path / "hypothesis.py").write_text("raise ModuleNotFoundError(\"No module named 'hypothesis'\")")
    folder = EXAMPLE if inside else shutil.copytree(EXAMPLE, tmp_path / "mine")
    options = ("-p", "no:hypothesispytest", "--operators", "leaky_ops.conformance", "--collect-only")
    done = run_pytest(folder, *options, PYTHONPATH=python_path(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "leaky_ops.conformance::leaky_sum-reference-random-float32-values" in done.stdout
