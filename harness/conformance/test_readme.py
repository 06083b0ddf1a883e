import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def run(program, folder):
    path = folder / "program.py"
    path.write_text(program)
    command = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_prints_its_result_in_at_most_twelve_lines(tmp_path):
    assert len([line for line in PROGRAMS[0].splitlines() if line.strip()]) <= 12
    assert re.fullmatch(r"\d+ of 4000 neurons receive input\n", run(PROGRAMS[0], tmp_path))


def test_the_kernel_of_ones_own_runs(tmp_path):
    assert run(PROGRAMS[1], tmp_path) == "[0. 1. 3. 6.]\n"


def test_the_table_of_operators_is_current(tmp_path):
    copy = Path(shutil.copy(README, tmp_path))
    command = [sys.executable, "-m", "event_ops_harness.table", "--write", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert copy.read_text() == README.read_text(), "out of date: run `nox -s table`"


@pytest.mark.parametrize("task", ["demo", "tests"])
def test_the_two_commands_name_sessions_that_exist(task):
    noxfile = README.with_name("noxfile.py").read_text()
    assert f".venv/bin/nox -s {task}\n" in README.read_text()
    assert f"def {task}(session: nox.Session)" in noxfile
