import json
import re
import subprocess
import sys
from pathlib import Path

import matrix
import pytest
import tiers

CI = Path(__file__).parents[1]
TOOL = matrix.__file__


def version(text):
    return [int(part) for part in text.split(".")]


def sort_key(row):
    return version(row["python"]), version(row["jax"]), row["backends"], row["platform"]


def pinned_jax(row):
    name = "lowest" if row["sessions"] == ["minimums"] else f"py{row['python']}"
    pins = (CI / "constraints" / f"{name}.txt").read_text()
    return re.search(r"^jax==(.+)$", pins, flags=re.MULTILINE)[1]


def noxfile_sessions():
    noxfile = (CI.parent / "noxfile.py").read_text()
    return set(re.findall(r"^def (\w+)\(session: nox.Session", noxfile, flags=re.MULTILINE))


def test_rows_are_sorted_and_named_once():
    rows = matrix.rows()
    assert rows == sorted(rows, key=sort_key)
    names = [row["name"] for row in rows]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", matrix.rows(), ids=lambda row: row["name"])
def test_row_states_the_jax_that_is_pinned_or_one_between(row):
    if row["sessions"] == ["conformance"] and row["platform"] == "linux":
        others = [version(r["jax"]) for r in matrix.rows() if r["platform"] == "linux" and r != row]
        assert min(others) < version(row["jax"]) < max(others)
    else:
        assert row["jax"] == pinned_jax(row)


@pytest.mark.parametrize("row", matrix.rows(), ids=lambda row: row["name"])
def test_row_names_sessions_of_the_noxfile(row):
    assert {re.split(r"[-(]", name)[0] for name in row["sessions"]} <= noxfile_sessions()


def test_the_weekly_workflow_names_sessions_of_the_noxfile():
    workflow = (CI.parent / ".github" / "workflows" / "weekly.yml").read_text()
    (listed,) = re.findall(r"session: \[(.+)\]", workflow)
    assert {"newest", "slow"} <= set(listed.split(", ")) <= noxfile_sessions()


@pytest.mark.parametrize("session", ["slow", "reliability", "matrix", "derivatives"])
def test_what_the_quick_tests_leave_out_runs_in_full_and_in_ci(session):
    """Marks name sessions, and the matrix looks at every property of every operator on every backend."""
    noxfile = (CI.parent / "noxfile.py").read_text()
    full = re.search(r"^def full\(.*?(?=^@nox)", noxfile, flags=re.MULTILINE | re.DOTALL)[0]
    assert f'"{session}"' in full
    weekly = (CI.parent / ".github" / "workflows" / "weekly.yml").read_text()
    in_ci = {re.split(r"[-(]", name)[0] for row in matrix.rows() for name in row["sessions"]}
    in_ci |= set(re.search(r"session: \[(.*)\]", weekly)[1].split(", "))
    assert ("conformance" if session == "matrix" else session) in in_ci


def test_every_python_runs_all_tests_but_slow_ones():
    assert [row["python"] for row in matrix.rows() if "thorough" in row["sessions"]] == [
        "3.11",
        "3.12",
        "3.13",
        "3.14",
    ]


def test_every_tier_has_a_session():
    noxfile = (CI.parent / "noxfile.py").read_text()
    named = re.findall(r"^    of_tier\(session, \"(.+?)\"", noxfile, flags=re.MULTILINE)
    assert set(named) == tiers.TIERS["sessions"].keys()


def test_unknown_row_is_answered_with_the_known_ones():
    with pytest.raises(SystemExit, match=r"no row '2\.7'; it has 3\.11-"):
        matrix.sessions("2.7")


def test_json_is_the_matrix_of_a_workflow():
    platforms = ["linux", "emulated-sm90"]
    command = [sys.executable, TOOL, "--json", *platforms]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(printed) == [r for r in matrix.rows() if r["platform"] in platforms]


def test_no_arguments_list_the_rows():
    printed = subprocess.run([sys.executable, TOOL], check=True, capture_output=True, text=True).stdout
    assert printed.split() == [row["name"] for row in matrix.rows()]


def test_the_row_of_conformance_needs_no_gpu(monkeypatch):
    monkeypatch.delenv("ROW", raising=False)
    emulated = matrix.row_here(["3.12"])
    assert matrix.WITHOUT_GPU[emulated]["platform"] == matrix.EMULATED
    assert matrix.WITHOUT_GPU[emulated]["python"] == "3.12"
    for name in (row["name"] for row in matrix.rows()):
        monkeypatch.setenv("ROW", name)
        assert matrix.row_here(["3.12"]) == (name if name in matrix.WITHOUT_GPU else emulated)
    monkeypatch.setenv("ROW", "3.9-linux")
    with pytest.raises(SystemExit, match=r"no row '3\.9-linux'; it has 3\.11"):
        matrix.row_here(["3.12"])
