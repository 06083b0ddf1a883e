"""Find Pythons, install environments and run pytest for the sessions of noxfile.py."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "ci" / "constraints"
DISTRIBUTIONS = ("packages/ptx-on-cpu", "packages/ffi-bridge", "ops", "harness")
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


def prepare() -> list[str]:
    """Set the variables that uv, pyenv and Python read, for all; return the Pythons that run here."""
    # Assertions would be rewritten, and modules compiled, by each worker of each run.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["UV_PYTHON_DOWNLOADS"] = "never"
    os.environ["UV_COMPILE_BYTECODE"] = "1"  # each worker, and each new process of a test, imports JAX
    select_pyenv_versions()
    return here()


def select_pyenv_versions() -> None:
    """pyenv's shims answer only for selected versions: select each supported one it has."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    pattern = re.compile(rf"({'|'.join(map(re.escape, SUPPORTED))})\.\d+")
    versions = [p.name for p in root.glob("versions/*") if pattern.fullmatch(p.name)]
    versions.sort(key=lambda v: (not v.startswith(RUNNING), [int(n) for n in v.split(".")]))
    if versions:
        os.environ.setdefault("PYENV_VERSION", ":".join(versions))


def answers(version: str) -> bool:
    """Return whether this Python runs here: a shim of pyenv may exist and refuse."""
    command = shutil.which(f"python{version}")
    return command is not None and subprocess.run([command, "--version"], capture_output=True).returncode == 0


def here() -> list[str]:
    """The supported Pythons that run here, first the one that nox runs on."""
    return [RUNNING, *(v for v in SUPPORTED if v != RUNNING and answers(v))]


def install(session: nox.Session, *requirements: str, pins: str | None = None) -> None:
    """Install `requirements` under the constraints of the session's Python (or of `pins`)."""
    constraints = CONSTRAINTS / f"{pins or 'py' + str(session.python or RUNNING)}.txt"
    if constraints.exists():
        session.install("-c", str(constraints), *requirements)
    else:
        session.warn(f"no {constraints.relative_to(ROOT)}: the newest versions are installed")
        session.install(*requirements)


def install_row(session: nox.Session, row: Mapping[str, Any], *requirements: str) -> None:
    """Install `requirements` under constraints of ci/constraints/, but the jax of a row of ci/matrix.toml."""
    pins = "lowest" if "minimums" in row["sessions"] else f"py{session.python}"
    lines = (CONSTRAINTS / f"{pins}.txt").read_text().splitlines()
    kept = [line for line in lines if not re.match(r"jax(lib)?==|ml-dtypes==", line)]
    constraints = Path(session.create_tmp()) / "constraints.txt"
    constraints.write_text("\n".join([*kept, f"jax=={row['jax']}", ""]))
    session.install("-c", str(constraints), *requirements)


def workspace(*extras: str) -> list[str]:
    """The four distributions, editable, each with `extras`."""
    ours = {"harness": extras, "ops": (), "packages/ffi-bridge": (), "packages/ptx-on-cpu": ()}
    return [
        arg
        for folder, chosen in ours.items()
        for arg in ("-e", f"./{folder}[{','.join(chosen)}]" if chosen else f"./{folder}")
    ]


def group(name: str) -> list[str]:
    """One dependency group of the root pyproject.toml."""
    return list(nox.project.dependency_groups(nox.project.load_toml(ROOT / "pyproject.toml"), name))


def pytest(session: nox.Session, *args: str, under: tuple[str, ...] = (), **options: Any) -> None:
    """Run pytest on two to four processes, `under` a program; posargs come last and so win."""
    parallel = ("-n", "auto", "--maxprocesses", "4", "--dist", "worksteal")
    session.run("python", *under, "-m", "pytest", *parallel, *args, *session.posargs, **options)


def run_module(session: nox.Session, name: str, *extras: str, **options: Any) -> None:
    """Install the distributions with `extras`, and run one of their modules with the words after `--`."""
    install(session, *workspace(*extras))
    session.run("python", "-m", name, *session.posargs, **options)


def shared_libraries(session: nox.Session) -> dict[str, str]:
    """Return the variable by which Numba finds the shared libraries that pip installs: TBB."""
    return {"LD_LIBRARY_PATH": str(Path(session.virtualenv.location).resolve() / "lib")}


def version_of(session: nox.Session, module: str) -> str:
    """Return the version of a module that is installed in a session."""
    program = f"import {module}; print({module}.__version__)"
    return str(session.run("python", "-c", program, silent=True)).strip()


def of_tier(session: nox.Session, tier: str, *options: str) -> None:
    """Install everything and run the tests that ci/tiers.toml gives to a session."""
    tiers = tomllib.loads((ROOT / "ci" / "tiers.toml").read_text(encoding="utf-8"))
    install(session, *workspace("numba", "warp", "test"))
    pytest(session, *options, "-m", tiers["sessions"][tier])
