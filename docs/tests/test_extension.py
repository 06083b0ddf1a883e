"""What makes the site: pages of operators, docstrings, the check that the reference is complete."""

import importlib
import json
import re

import operator_pages
import pytest
import record_pages
import root_pages
from docstrings import with_returns, with_source
from operator_tables import Results, counted, measured, on_gpu
from report_results import COUNTED, MATRIX, write, write_all

import event_ops
from event_ops.discover import operators
from event_ops_harness.report.benchmarks import COMMANDS

RESULTS = Results.read(operator_pages.ROOT / "harness" / "results")


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_the_page_of_an_operator_has_what_is_known_about_it(operator):
    text = operator_pages.page(operator, RESULTS)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    expected = ["Backends", "Definition", "Conformance", "Measured", "On a GPU", "CUDA kernels, counted"]
    expected.append("Source")
    assert headings == [f"# {operator.name}", *(f"## {name}" for name in expected)]
    assert f".. autofunction:: event_ops.{operator.name}\n" in text
    for backend in operator.kernel.backend_names:
        assert f"| `{backend}`" in text
    assert "| ✕" not in text
    assert f"catalog/{operator.name}/op.py>`" in text
    assert re.search(r"/cases(/\w+)?\.py>`", text)
    shown = re.findall(r"literalinclude\} \.\./\.\./\.\./(.*)", text)
    assert shown and all((operator_pages.ROOT / file).exists() for file in shown)


OUT = "harness/results/"
MERGE = f"event_ops_harness.conformance.matrix ci/matrix.toml .nox/cells --output {OUT}matrix_{{0}}.json"
CHECK = f"nox -s conformance -- -k {{0}}-, python -m {MERGE}"
MEASURE = f"catalog -k 'test_operator and {{0}}-' --benchmark-json {OUT}catalog_{{0}}.json"
# What every operator has a record of: a pattern of its page, and the commands that write one.
RECORDS = {
    "cells": (r"\| ✓", f"ROW=3.11-0.10.2-linux {CHECK}"),
    "emulated cells": (r"jax [\d.]+ on an emulated GPU", f"ROW=3.11-0.10.2-emulated-sm90 {CHECK}"),
    "times on a GPU": (r"\| NVIDIA H100", "ci/gpu.sh --only catalog"),
    "times": (r"[nµm]?s a (call|step) \(`\w+`\) \|.* [\d.,]+×", f"nox -s bench -- {MEASURE}"),
    "counters": (r"\*\*Nothing was timed", "nox -s counters"),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_every_operator_is_in_a_record(kind):
    pattern, command = RECORDS[kind]
    pages = {operator.name: operator_pages.page(operator, RESULTS) for operator in operators()}
    absent = {name for name, text in pages.items() if not re.search(pattern, text)}
    told = "; ".join(command.format(name) for name in sorted(absent))
    assert not absent, f"no record in {OUT} has {kind} of these: {told}"


def test_times_are_beside_those_of_others_with_intervals_where_there_are_any(tmp_path):
    catalog = Results.read(write_all(tmp_path)).catalog
    text = measured("op2", catalog)
    assert "On 2 cores (A processor), jax 0.12.0, 2026-01-04:" in text
    assert "| `4k` | 1 µs a call (`numba_cpu`) | warp 0.25×, SciPy 2.5× (2.0 to 2.8) |" in text
    assert measured("op1", catalog).count("| `") == 1  # the gradient is elsewhere


def test_a_case_is_shown_as_it_was_measured_last(tmp_path):
    folder = write_all(tmp_path)
    newer = json.loads((folder / "catalog.json").read_text()) | {"datetime": "2026-02-01T00:00:00"}
    newer["benchmarks"] = [x for x in newer["benchmarks"] if x["group"] == "op2 4k"]
    text = measured("op2", Results.read(write(folder, catalog_newer=newer)).catalog)
    assert text.count("| `4k` |") == 1 and "2026-02-01" in text and "2026-01-04" not in text


def test_times_of_a_gpu_are_beside_those_of_xla():
    found = {"f 1k, GPU busy, us": 4.0, "f 1k, GPU busy, reference us": 6.0, "f 1k, GPU busy, share": 0.5}
    record = {"device": "A GPU", "steps": {"catalog": {"found": found}, "launch": {"found": None}}}
    assert "| A GPU | `1k` | 4 µs | 1.5× | 50% |" in on_gpu("f", [record])
    assert on_gpu("g", [record]) == "No time on a GPU has been recorded."


def test_without_a_catalog_that_can_be_read_a_page_says_so(tmp_path):
    catalog = Results.read(write(tmp_path, matrix=MATRIX, catalog={"rows": []})).catalog
    assert measured("op2", catalog) == "No benchmark of this operator has been recorded."


def test_counters_are_those_of_the_file_and_say_that_nothing_was_timed(tmp_path):
    counters = {"command": "nox -s counters", "compilers": {"numba-cuda": "0.30"}, "rows": [COUNTED]}
    counters["meaning"] = "warps: the part of lanes that are active"
    text = counted("op1", counters)
    assert "| `4k` | `warp` | 2 | 1.25 | 88% | 50% | 3 | 7 | 40 | 0 | 75% | 2.5, 2.25 µs |" in text
    assert "Nothing was timed" in text and "**estimate**" in text and "numba-cuda 0.30" in text
    assert counters["meaning"] in text
    assert counted("op2", counters) == "No counters of this operator have been recorded."


def test_pages_of_operators_that_are_gone_are_removed(tmp_path):
    (tmp_path / "gone.md").write_text("# gone\n")
    operator_pages.write(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {"index", *(o.name for o in operators())}


def test_every_record_has_a_page_with_its_tables(tmp_path):
    record_pages.write(tmp_path)
    pages = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert set(pages) == {"index", *(name for name in COMMANDS if name != "matrix")}
    folded = sum(text.count("<details") for text in pages.values())
    assert folded > 270 and folded == sum(text.count("</details>") for text in pages.values())
    assert "nox -s bench -- cuba" in pages["cuba"] and "Brian2 C++ standalone" in pages["cuba"]


def test_every_operator_is_in_one_family():
    text = operator_pages.index(operators())
    for operator in operators():
        assert text.count(f"- [`{operator.name}`]({operator.name}.md)") == 1


def test_values_with_names_are_listed_and_others_are_a_paragraph():
    named = ["Returns:", "    V_m, w: as before.", "    spikes: bool,", "        or floats.", "", "Raises:"]
    assert with_returns(named) == ["Outputs:", *named[1:]]
    plain = ["Returns:", "    A function: of arrays,", "    jitted.", "", "Raises:"]
    assert with_returns(plain) == ["", ":Returns: A function: of arrays,", "    jitted.", "", "Raises:"]
    assert with_returns(["Nothing."]) == ["Nothing."]


def test_a_source_of_several_lines_is_one_field():
    lines = ["Raises:", "    ValueError: no.", "", "Source: A (2018), B 1, 2;", "    C (2020)."]
    assert with_source(lines)[2:] == ["", "", ":Source: A (2018), B 1, 2;", "    C (2020).", ""]


def test_a_public_name_without_an_entry_is_found():
    pytest.importorskip("sphinx", reason="the group docs is not installed")
    completeness = importlib.import_module("completeness")
    every = completeness.missing([])
    assert {"event_ops.CSR", "event_ops.surrogate", "ffi_bridge.numba_kernel"} <= set(every)
    ours = {name.rpartition(".")[2] for name in every if name.startswith("event_ops.")}
    assert ours <= set(vars(event_ops))
    assert completeness.missing(set(every) - {"event_ops.CSR"}) == ["event_ops.CSR"]


def test_files_of_the_root_link_to_each_other_as_pages(tmp_path):
    root_pages.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*root_pages.PAGES.values(), "cite.md"}
    assert "  version = {0.1.0}," in (tmp_path / "cite.md").read_text()
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "](promises.md)" in text
    assert not [file for file in (*root_pages.PAGES, *root_pages.ELSEWHERE) if f"]({file})" in text]
