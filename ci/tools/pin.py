"""Write ci/constraints/: one file of pinned versions per Python, and one of the oldest allowed.

A file holds names and versions only: no hashes, no index, no path.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "ci" / "constraints"
DISTRIBUTIONS = ("packages/ptx-on-cpu", "packages/ffi-bridge", "ops", "harness")
OURS = ("ptx-on-cpu", "ffi-bridge", "event-ops")  # what others of the workspace depend on
HEADER = "# Written by `nox -s constraints`. {what}.\n"


def compile_command(python: str, extras: tuple[str, ...], *options: str) -> list[str]:
    """The uv command that resolves the workspace for one Python on Linux."""
    return [
        *("uv", "pip", "compile", "--quiet", "--no-annotate", "--no-header"),
        *("--python-version", python, "--python-platform", "x86_64-manylinux_2_28"),
        *(word for name in OURS for word in ("--no-emit-package", name)),
        *(word for extra in extras for word in ("--extra", extra)),
        *options,
        *(f"{folder}/pyproject.toml" for folder in DISTRIBUTIONS),
    ]


def pin(name: str, what: str, command: list[str]) -> None:
    """Run `command` and write the versions that it resolves to `ci/constraints/<name>.txt`."""
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    path = FOLDER / f"{name}.txt"
    path.write_text(HEADER.format(what=what) + done.stdout, encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {done.stdout.count('==')} versions")


def main() -> int:
    """Write every file."""
    FOLDER.mkdir(exist_ok=True)
    names = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    groups = [word for name in names for word in ("--group", f"pyproject.toml:{name}")]
    everything = ("numba", "warp", "enzyme", "export", "test", "bench")
    for python in ("3.11", "3.12", "3.13", "3.14"):
        what = f"The newest versions for Python {python}"
        pin(f"py{python}", what, compile_command(python, everything, *groups))
    oldest = compile_command("3.11", ("numba", "warp", "export", "test"), "--resolution", "lowest-direct")
    pin("lowest", "The oldest versions that the distributions allow, for Python 3.11", oldest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
