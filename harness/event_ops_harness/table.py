"""The README's table: operators x backends, as registered, not as remembered."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from event_ops.discover import Operator, operators

BEGIN: Final = "<!-- operators:begin -->"
END: Final = "<!-- operators:end -->"
BACKENDS: Final = ("reference", "numba_cpu", "warp", "numba_cuda")


def table() -> str:
    """A Markdown table: one row per operator, the platforms of each backend in the cells."""
    head = ["operator", "computes", *BACKENDS]
    rows = [_row(operator) for operator in operators()]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def with_table(text: str) -> str:
    """`text` with what is between the markers replaced; raises ValueError where they are missing."""
    if BEGIN not in text or END not in text:
        raise ValueError(f"found no {BEGIN} ... {END}; put both markers where the table belongs")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _row(operator: Operator) -> list[str]:
    cells = [", ".join(_platforms(operator, backend)) or "-" for backend in BACKENDS]
    return [f"`{operator.name}`", _first_sentence(operator), *cells]


def _platforms(operator: Operator, backend: str) -> list[str]:
    kernels = operator.kernel._kernels
    return sorted(platform for platform, backends in kernels.items() if backend in backends)


def _first_sentence(operator: Operator) -> str:
    lines = (operator.function.__doc__ or "").strip().splitlines()
    return lines[0].rstrip(".").replace("|", "\\|")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="table", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this file")
    options = parser.parse_args(argv)
    if options.write is None:
        print(table())
    else:
        options.write.write_text(with_table(options.write.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
