"""Check that tests reach enough: `covered.py FILE`, made by `coverage json`; ends with 1 if they do not."""

import json
import sys
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


def main(file: str) -> int:
    """Print the shares in `file`."""
    found = shares(json.loads(Path(file).read_text(encoding="utf-8"))["totals"])
    for kind, (share, least) in found.items():
        print(f"{kind}: {share:.1%} covered, at least {least:.0%} wanted")
    return int(any(share < least for share, least in found.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
