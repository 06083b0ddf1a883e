"""The examples run as their docstrings say, and reach what they promise."""

from pathlib import Path

import child_python
import pytest

DIGITS = Path(__file__).parents[1] / "examples" / "train_digits.py"


def test_training_without_scikit_learn_says_what_is_missing():
    hidden = f"import runpy, sys; sys.modules['sklearn'] = None; sys.argv = ['train_digits.py']; \
        runpy.run_path({str(DIGITS)!r}, run_name='__main__')"
    done = child_python.run("-c", hidden)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "pip install scikit-learn" in done.stderr


@pytest.mark.slow
def test_digits_are_learned():
    pytest.importorskip("sklearn", reason="scikit-learn ships the digits")
    header, *rows = child_python.output(DIGITS, "--epochs", "12", "--seed", "1", timeout=900).splitlines()
    assert header.split()[:2] == ["epoch", "loss"] and len(rows) == 12
    losses = [float(row.split()[1]) for row in rows]
    assert losses[-1] < losses[0] / 5
    assert float(rows[-1].split()[2].rstrip("%")) >= 90
