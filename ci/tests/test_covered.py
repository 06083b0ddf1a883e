"""A share that is too low ends the check with 1, and says which."""

import json

import covered
import pytest


@pytest.mark.parametrize(
    ("lines", "branches", "status"), [(95, 90, 0), (94, 90, 1), (95, 89, 1), (100, 100, 0), (0, 0, 1)]
)
def test_lines_and_branches_count_by_themselves(tmp_path, capsys, lines, branches, status):
    totals = {"covered_lines": lines, "num_statements": 100}
    totals |= {"covered_branches": branches, "num_branches": 100}
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps({"totals": totals}))
    assert covered.judge(file) == status
    assert f"lines: {lines:.1f}% covered" in capsys.readouterr().out
