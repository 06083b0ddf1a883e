import re
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parents[1].glob("constraints/*.txt"))
PIN = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; [^/@]+)?")


def test_there_is_a_file_for_each_python_and_one_for_the_oldest_versions():
    assert [path.stem for path in FILES] == ["lowest", "py3.11", "py3.12", "py3.13", "py3.14"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_names_and_versions_and_no_address(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not PIN.fullmatch(line)] == []
