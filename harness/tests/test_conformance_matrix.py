"""The rows of a matrix in one file: what was found, what failed, and why a row was left out."""

import json

from event_ops_harness.conformance.matrix import main

ROWS = """
[[row]]
python = "3.12"
jax = "0.12.0"
platform = "linux"

[[row]]
python = "9.9"
jax = "0.0.1"
platform = "linux"

[[row]]
python = "3.12"
jax = "0.12.0"
platform = "linux-gpu"
"""


def cell(prop, status, reason=""):
    names = {"operator": "csr_matvec", "backend": "numba_cpu", "case": "random", "dtype": "float32"}
    return {**names, "property": prop, "status": status, "reason": reason}


def run(tmp_path, cells):
    (tmp_path / "rows.toml").write_text(ROWS)
    (tmp_path / "3.12-0.12.0-linux.json").write_text(json.dumps(cells))
    output = tmp_path / "matrix.json"
    status = main([str(tmp_path / "rows.toml"), str(tmp_path), "--output", str(output)])
    return status, json.loads(output.read_text())


def test_rows_and_cells(tmp_path):
    status, matrix = run(tmp_path, [cell("bounds", "passed"), cell("jit", "passed")])
    assert status == 0
    assert [c["property"] for c in matrix["cells"]] == ["jit", "bounds"]
    assert [(r["status"], r["reason"]) for r in matrix["rows"]] == [
        ("passed", ""),
        ("skipped", "Python 9.9 is not installed here"),
        ("skipped", "this machine has no NVIDIA GPU"),
    ]


def test_a_failure_is_shown_and_is_the_status(tmp_path, capsys):
    status, matrix = run(tmp_path, [cell("jit", "failed", "got 1; expected 2")])
    assert status == 1
    assert matrix["rows"][0]["status"] == "failed"
    assert "got 1; expected 2" in capsys.readouterr().out
