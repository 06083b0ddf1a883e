"""Gaps and odd rows in the JSON do not stop the page; Markdown; the command."""

import json
from pathlib import Path

import pytest
from report_results import MATRIX, Elements, benchmark, rendered, row, text_of, write, write_all

from event_ops_harness.report.__main__ import RESULTS, main
from event_ops_harness.report.inputs import COMMANDS, read
from event_ops_harness.report.markdown import markdown


def test_missing_inputs_are_said_with_the_command_that_makes_them(tmp_path: Path):
    shown = text_of(rendered(tmp_path))
    for name, command in COMMANDS.items():
        assert f"{name}.json is not there; {command} writes it" in shown
    assert "No matrix was found. nox -s matrix checks" in shown


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON: "),
        ("[1]", "holds a list; expected an object with rows"),
        ('{"rows": 3}', "has no 'rows' that are objects"),
        ('{"rows": [3]}', "has no 'rows' that are objects"),
    ],
)
def test_unusable_input_is_named_with_its_reason(tmp_path: Path, content: str, reason: str):
    folder = write(tmp_path, call=content, matrix=MATRIX)
    assert f"call.json {reason}" in text_of(rendered(folder))


def test_rows_without_figures_do_not_stop_the_page(tmp_path: Path):
    odd = [
        {},
        {"group": None, "rival": "x"},
        row("g", "a", 0.0, 1.0),
        {"group": "g", "rival": "b", "us": None},
    ]
    odd += [row("g", "c", float("inf"), float("nan")), {"neurons": "many", "us_median": "fast"}]
    files = dict.fromkeys(
        ("catalog", "call", "cuba", "scaling", "threads", "devices", "memory", "cold"), benchmark(*odd)
    )
    folder = write(tmp_path, **files, matrix={"rows": [{}], "cells": [{}, {"status": "odd"}]})
    assert "status 'odd'" in text_of(rendered(folder))


def test_markdown_has_ratios_as_the_readme_states_them(tmp_path: Path):
    text = markdown(read(write_all(tmp_path)))
    assert "| loop | 1 | numba_kernel | XLA: 0.20; callback: 100 |" in text
    assert "| 4,000 neurons | 1 | event-ops, fused step | Brian2: 4.0 |" in text
    assert "| f | numba_cpu | 2 | 1 | 1 |" in text
    assert "| anything | 42 |" in text


def test_results_of_this_repository_make_a_page_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output, tables = tmp_path / "new" / "page.html", tmp_path / "tables.md"
    assert main(["--output", str(output), "--markdown", str(tables)]) == 0
    elements = Elements(output.read_text(encoding="utf-8"))
    assert {link[1:] for link in elements.links} <= set(elements.ids)
    operators = {r["operator"] for r in json.loads((RESULTS / "catalog.json").read_text())["rows"]}
    shown = text_of(elements)
    assert len(operators) > 20 and all(name in shown for name in operators)
    assert all(f"| {name} |" in tables.read_text() for name in operators - {"trace_decay"})
    printed = capsys.readouterr().out
    assert f"written: {output}" in printed and f"written: {tables}" in printed


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--results", str(tmp_path / "none")])
    assert "does not exist" in capsys.readouterr().err
