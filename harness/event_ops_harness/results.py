"""Make tables, and write results as JSON with the machine and the versions that figures depend on."""

import datetime
import functools
import importlib.metadata
import json
import os
import platform
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from event_ops_harness.revisions import RevisionError, git

RESULTS: Final = Path(__file__).parents[1] / "results"

# Packages that figures depend on, where they are installed.
_PACKAGES = (
    *("jax", "jaxlib", "numba", "numpy", "scipy", "warp-lang"),
    *("mkl", "sparse-dot-mkl", "python-graphblas", "suitesparse-graphblas"),
    *("brainevent", "brainstate", "brainpy", "blackjax", "nutpie", "pymc", "pytensor", "enzyme-ad"),
)
# Options whose values are paths.
_LOCAL = ("--rivals-python", "--output", "--benchmark-json", "--benchmark-storage", "--benchmark-histogram")


def new_table(title: str, columns: Sequence[str], text: Container[str]) -> Table:
    """Return a table without rows: columns of figures, except in `text`."""
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="left" if name in text else "right")
    return table


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts in Markdown, which must not hold `|`."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write_results(path: Path, command: str, figures: Mapping[str, Any]) -> None:
    """Write the figures, with the command that measures them again, the time and the machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    result = {"command": command, **when(), "machine": machine(), **figures}
    path.write_text(json.dumps(result, indent=1) + "\n")


def command(session: str, options: Sequence[str]) -> str:
    """Return the nox command that measures the same again, without the paths of this machine."""
    # The option, and behind it its value.
    local = {i + k for i, word in enumerate(options) if word in _LOCAL for k in (0, 1)}
    joined = tuple(f"{name}=" for name in _LOCAL)
    shared = [word for i, word in enumerate(options) if i not in local and not word.startswith(joined)]
    return f"nox -s {session}" + (f" -- {shlex.join(shared)}" if shared else "")


def machine() -> dict[str, Any]:
    """Describe the machine that figures depend on, without naming it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **packages(),
    }


def packages() -> dict[str, str]:
    """Return the versions of packages that figures depend on."""
    return installed(*_PACKAGES)


def installed(*names: str) -> dict[str, str]:
    """Return the versions of the distributions that are installed."""
    versions = _versions()
    return {name: versions[name] for name in names if name in versions}


@functools.cache  # reads the metadata of every package, some hundred files
def _versions() -> dict[str, str]:
    return {str(x.metadata["Name"]).lower(): x.version for x in importlib.metadata.distributions()}


def when() -> dict[str, str]:
    """Return the date, and the commit that is checked out."""
    return {"date": datetime.date.today().isoformat(), "commit": commit_of(Path(__file__).parent)}


def commit_of(folder: Path) -> str:
    """Return the commit that is checked out around `folder`, shortened; empty outside of git."""
    try:
        return git(folder, "rev-parse", "--short", "HEAD")
    except (OSError, RevisionError):
        return ""


PASSED: Final = "passed"
FAILED: Final = "failed"
SKIPPED: Final = "skipped"
