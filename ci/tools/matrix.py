"""Read ci/matrix.toml.

python ci/tools/matrix.py                   # the names of the rows
python ci/tools/matrix.py --sessions NAME   # the nox sessions of one row
python ci/tools/matrix.py --json PLATFORM ...   # the rows of these platforms, as a workflow's matrix
"""

import json
import os
import sys
import tomllib
from pathlib import Path

MATRIX = Path(__file__).parents[1] / "matrix.toml"
EMULATED = "emulated-sm90"  # a platform


def rows(path: Path = MATRIX) -> list[dict]:
    """Return every row, with the name it is called by."""
    declared = tomllib.loads(path.read_text(encoding="utf-8"))["row"]
    return [{"name": f"{r['python']}-{r['jax']}-{r['platform']}", **r} for r in declared]


def sessions(name: str, path: Path = MATRIX) -> list[str]:
    """Return the sessions of row `name`; SystemExit with the known names when there is none."""
    known = {row["name"]: row["sessions"] for row in rows(path)}
    if name not in known:
        raise SystemExit(f"ci/matrix.toml has no row {name!r}; it has {', '.join(known)}")
    return known[name]


# The rows that machines without a GPU can run.
WITHOUT_GPU = {row["name"]: row for row in rows() if row["platform"] != "linux-gpu"}


def row_here(pythons: list[str]) -> str:
    """Return $ROW if it needs no GPU, else a row of an emulated one, of these Pythons where there is one.

    SystemExit with the known names where $ROW is none of them.
    """
    emulated = [name for name, row in WITHOUT_GPU.items() if row["platform"] == EMULATED]
    able = [name for name in emulated if WITHOUT_GPU[name]["python"] in pythons]
    wanted = os.environ.get("ROW", emulated[0])
    sessions(wanted)
    return wanted if "ROW" in os.environ and wanted in WITHOUT_GPU else (able or emulated)[0]


def main(args: list[str]) -> int:
    """Print the rows that the command line asks for."""
    match args:
        case []:
            print(*(row["name"] for row in rows()), sep="\n")
        case ["--sessions", name]:
            print(*sessions(name))
        case ["--json", *platforms] if platforms:
            print(json.dumps([row for row in rows() if row["platform"] in platforms]))
        case _:
            raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
