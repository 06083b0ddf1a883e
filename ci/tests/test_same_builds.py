import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "same_builds.py"


@pytest.fixture
def folders(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a-1.whl").write_bytes(b"wheel")
    return tmp_path / "one", tmp_path / "other"


def compare(folders):
    return subprocess.run([sys.executable, TOOL, *folders], capture_output=True, text=True, check=False)


def test_equal_builds_pass(folders):
    done = compare(folders)
    assert (done.returncode, done.stdout) == (0, "1 files, the same bytes in two builds\n")


def test_what_differs_or_is_missing_is_named(folders):
    folders[1].joinpath("a-1.whl").write_bytes(b"other")
    folders[1].joinpath("a-1.tar.gz").write_bytes(b"")
    done = compare(folders)
    assert done.returncode == 1
    assert done.stdout == "a-1.tar.gz: built once only\na-1.whl: two builds differ\n"
