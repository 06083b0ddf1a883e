"""What pytest-benchmark writes is read, gaps in it do not stop the page; Markdown; the command."""

import json
from pathlib import Path

import pytest
from other_pytest import run_pytest
from report_results import CALL, MATRIX, Elements, benchmark, cell, entry, ours, rendered, text_of, write

from event_ops_harness.report.__main__ import RESULTS, main
from event_ops_harness.report.benchmarks import COMMANDS
from event_ops_harness.report.benchmarks import benchmark as benchmark_of
from event_ops_harness.report.conformance import joined
from event_ops_harness.report.inputs import environment, read
from event_ops_harness.report.rows import compared, groups
from event_ops_harness.report.sections import groups_of


def test_missing_inputs_are_said_with_the_command_that_makes_them(tmp_path: Path):
    shown = text_of(rendered(tmp_path))
    for name, command in COMMANDS.items():
        assert f"{name}.json is not there; {command} writes it" in shown
    assert "No matrix was found. nox -s matrix checks" in shown


OLD = {"command": "nox -s bench -- call", "rows": [{"group": "loop", "rival": "XLA", "us": 0.1, "ratio": 1}]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON: "),
        ("[1]", "holds a list; expected an object with benchmarks"),
        ('{"benchmarks": 3}', "has no 'benchmarks' that are objects"),
        ('{"benchmarks": [3]}', "has no 'benchmarks' that are objects"),
        (json.dumps(OLD), "has no 'benchmarks' that are objects; nox -s bench -- call writes it"),
    ],
)
def test_unusable_input_is_named_with_its_reason(tmp_path: Path, content: str, reason: str):
    folder = write(tmp_path, call=content, matrix=MATRIX)
    assert f"call.json {reason}" in text_of(rendered(folder))


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("cuba", "cuba"),
        ("cuba_400000", "cuba"),
        ("microcircuit_full", "microcircuit"),
        ("microcircuit_statistics_full", "microcircuit_statistics"),
        ("cubature", "cubature"),
    ],
)
def test_a_file_is_of_the_longest_benchmark_that_its_name_begins_with(name: str, of: str):
    assert benchmark_of(name) == of


def test_the_matrix_has_what_each_record_found_last():
    row = {"name": "3.12-linux", "status": "passed"}
    cells = [cell("f", "numba_cpu", "jit", "passed"), cell("new", "numba_cpu", "jit", "passed")]
    newer = {"date": "2026-01-03", "rows": [row], "cells": cells}
    found = joined([newer, MATRIX])
    assert {(x["operator"], x["status"]) for x in found["cells"]} == {
        *(("f", "passed"), ("g/h", "passed"), ("new", "passed"))
    }
    assert {x["name"]: x["status"] for x in found["rows"]} == {"3.12-linux": "passed", "gpu": "skipped"}


def test_groups_of_two_files_are_never_one():
    names = [[t.name for t in group.timings] for group in groups_of({"call": CALL, "call_again": CALL})]
    assert names == [["numba_kernel", "XLA", "callback"]] * 2


def test_entries_without_figures_do_not_stop_the_page(tmp_path: Path):
    odd = [{}, {"group": None, "name": "x", "stats": None, "extra_info": None}]
    odd += [entry("g", "a", us) for us in (0.0, float("inf"), float("nan"))]
    odd += [entry("g", "b", 1.0, ours=None, ratio="fast", low=None, size=-1, series="s", versions=None)]
    names = ("catalog", "call", "cuba", "scaling", "threads", "devices", "memory", "cold")
    folder = write(
        tmp_path,
        **{name: {"machine_info": None, "benchmarks": odd} for name in names},
        matrix={"rows": [{}], "cells": [{}, {"status": "odd"}]},
        gpu={"steps": {"a": {}, "b": {"found": {", us": 1.0, "x, ": 2.0, "y, us": None, "z us": 3.0}}}},
    )
    assert "status 'odd'" in text_of(rendered(folder))


SPEED = """
import time
import pytest

MEMBERS = {"mine": lambda: time.sleep(2e-3), "sleep[1]": lambda: time.sleep(1e-3)}


@pytest.mark.benchmark(group="naps")
@pytest.mark.parametrize("member", MEMBERS)
def test_naps(in_turns, member):
    in_turns(MEMBERS, member)


def test_alone(benchmark):
    benchmark.extra_info["answer"] = 42
    benchmark(sum, [1])
"""


@pytest.mark.slow
def test_a_file_of_pytest_benchmark_is_read(tmp_path: Path):
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    (tmp_path / "test_speed.py").write_text(SPEED)
    done = run_pytest(tmp_path, "--benchmark-max-time", "0.05", "--benchmark-json", "speed.json")
    assert done.returncode == 0, done.stdout + done.stderr
    inputs = read(tmp_path)
    naps, alone = groups(inputs.files["speed"])
    mine, sleep = naps.timings
    assert (naps.name, mine.name, sleep.name) == ("naps", "mine", "sleep[1]")
    assert mine.ours and naps.rivals == [sleep] and mine.us > 1500
    assert mine.more["ratio"] * naps.ratio(sleep) == pytest.approx(1)
    assert mine.interval[0] <= mine.more["ratio"] <= mine.interval[1]
    assert (alone.name, alone.baseline.name, alone.baseline.more["answer"]) == (
        "test_alone",
        "test_alone",
        42,
    )
    assert groups(benchmark(ours("g", "of us[1]", 2.0)))[0].baseline.name == "of us[1]"  # named by its suite
    (source,) = environment(inputs)["sources"]
    assert source["date"].startswith("20") and len(source["date"]) == len("2026-01-04")
    shown = text_of(rendered(tmp_path))
    assert "sleep[1]: " in shown and "test_alone" in shown


def test_results_of_this_repository_make_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "new" / "page.html"
    assert main(["--output", str(output)]) == 0
    elements = Elements(output.read_text(encoding="utf-8"))
    assert {link[1:] for link in elements.links} <= set(elements.ids)
    inputs, shown = read(RESULTS), text_of(elements)
    assert all(f"{path.stem}.json" in shown for path in RESULTS.glob("*.json"))
    assert all(f"{one.name} {one.reason}" in shown for one in inputs.missing)
    for content in inputs.files.values():
        for group in compared(groups(content)):
            assert group.operator in shown and group.case in shown
    assert f"written: {output}" in capsys.readouterr().out


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--results", str(tmp_path / "none")])
    assert "does not exist" in capsys.readouterr().err
