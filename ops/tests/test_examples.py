"""The examples run as their docstrings say, and reach what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

DIGITS = Path(__file__).parents[1] / "examples" / "train_digits.py"


def test_training_without_scikit_learn_says_what_is_missing():
    hidden = f"import runpy, sys; sys.modules['sklearn'] = None; sys.argv = ['train_digits.py']; \
        runpy.run_path({str(DIGITS)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "pip install scikit-learn" in done.stderr


@pytest.mark.slow
def test_digits_are_learned():
    pytest.importorskip("sklearn", reason="scikit-learn ships the digits")
    command = [sys.executable, str(DIGITS), "--epochs", "12", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    header, *rows = done.stdout.splitlines()
    assert header.split()[:2] == ["epoch", "loss"] and len(rows) == 12
    losses = [float(row.split()[1]) for row in rows]
    assert losses[-1] < losses[0] / 5
    assert float(rows[-1].split()[2].rstrip("%")) >= 90
