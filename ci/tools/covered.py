"""Combine and print the lines that tests reached, where coverage ran; end with 1 if they are too few."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# What is counted, by the names that coverage has for it -> the least share of it.
LEAST: Final = {
    ("lines", "covered_lines", "num_statements"): 0.95,
    ("branches", "covered_branches", "num_branches"): 0.90,
}


def shares(totals: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """Kind -> the share that is covered, and the least that it may be."""
    return {kind: (totals[part] / totals[whole], least) for (kind, part, whole), least in LEAST.items()}


def judge(file: Path) -> int:
    """Print the shares in a file of `coverage json`."""
    by_kind = shares(json.loads(file.read_text(encoding="utf-8"))["totals"])
    for kind, (share, least) in by_kind.items():
        print(f"{kind}: {share:.1%} covered, at least {least:.0%} wanted")
    return int(any(share < least for share, least in by_kind.values()))


def main() -> int:
    """Combine the data of all processes, list the lines that no test reached, and judge the whole."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "coverage.json"
        for words in ("combine --quiet", "report --skip-covered", f"json --quiet -o {file}"):
            subprocess.run([sys.executable, "-m", "coverage", *words.split()], check=True)
        return judge(file)


if __name__ == "__main__":
    sys.exit(main())
