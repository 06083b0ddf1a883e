"""Install built distributions in a fresh environment, run the README's program there and test an operator.

python ci/tools/try_built.py DIST   # DIST holds one wheel and one sdist of each distribution

Wheels first, with everything they need; then the sdists over them, built again from source.
Both times the program runs in an empty directory, so that only what is installed can be found.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUTSIDE = ROOT / "harness" / "examples" / "outside"
NAMES = ("ptx_on_cpu", "ffi_bridge", "event_ops", "event_ops_harness")
EXTRAS = {"ptx_on_cpu": ""}  # it has no toolchain to choose
CONSTRAINTS = ROOT / "ci" / "constraints" / f"py3.{sys.version_info.minor}.txt"
TABLES = sorted(path.name for path in ROOT.glob("ops/event_ops/tuning/*.json"))
CHECK = """
import importlib.metadata, pathlib, sys
for name in {names}:
    module = __import__(name)
    dist = importlib.metadata.distribution(name.replace("_", "-"))
    files = [str(f) for f in dist.files]
    assert pathlib.Path(module.__file__).is_relative_to(sys.prefix), module.__file__
    assert module.__version__ == dist.version, (module.__version__, dist.version)
    assert f"{{name}}/py.typed" in files, f"{{name}}: no py.typed"
    assert any(f.endswith("licenses/LICENSE") for f in files), f"{{name}}: no LICENSE"
    print(name, dist.version, "from", "site-packages")
    if name == "event_ops":
        missing = [t for t in {tables} if f"event_ops/tuning/{{t}}" not in files]
        assert not missing, f"no tuning tables: {{missing}}"
"""


def built(dist: Path, name: str, ending: str) -> Path:
    """The one file of distribution `name` in `dist`; SystemExit when it is not exactly one."""
    files = list(dist.glob(f"{name}-[0-9]*{ending}"))
    if len(files) != 1:
        raise SystemExit(f"{dist}: expected one {name}-*{ending}, found {len(files)}; run build")
    return files[0]


def check_sdist(path: Path) -> Path:
    """Return the path of an sdist; SystemExit where ci/tools/sdist.py has left a `.gitignore` in it."""
    with tarfile.open(path) as archive:
        if any(name.endswith(".gitignore") for name in archive.getnames()):
            raise SystemExit(f"{path.name} holds a .gitignore, which ci/tools/sdist.py is to drop")
    return path


def run(python: Path, cwd: Path, *args: str) -> None:
    """Run the fresh environment's Python in `cwd`, isolated from the user's site-packages."""
    subprocess.run([python, "-I", *args], cwd=cwd, check=True)


def try_installed(python: Path, empty: Path) -> None:
    """Import the packages and run the program."""
    run(python, empty, "-c", CHECK.format(names=NAMES, tables=TABLES))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    run(python, empty, "-c", readme.split("```python\n")[1].split("```")[0])


def try_outside(python: Path, empty: Path, *pip: str) -> None:
    """Install the example of a package outside of this repository, and test its operator."""
    example = Path(shutil.copytree(OUTSIDE, empty / "outside"))
    run(python, empty, *pip, str(example), "pytest", "flatbuffers")
    shutil.rmtree(example)
    run(python, empty, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--operators", "leaky_ops.conformance")


def main(dist: Path) -> int:
    """Try the wheels, then the sdists."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder, "empty")
        empty.mkdir()
        venv.create(Path(folder, "env"), symlinks=True, with_pip=True)
        python = Path(folder, "env", "bin", "python")
        pip = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
        pins = ("-c", str(CONSTRAINTS)) if CONSTRAINTS.exists() else ()
        wheels = [f"{built(dist, name, '.whl')}{EXTRAS.get(name, '[numba]')}" for name in NAMES]
        run(python, empty, *pip, *pins, *wheels)
        try_installed(python, empty)
        try_outside(python, empty, *pip, *pins)
        sdists = [str(check_sdist(built(dist, name, ".tar.gz"))) for name in NAMES]
        run(python, empty, *pip, "--no-deps", "--force-reinstall", *sdists)
        try_installed(python, empty)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
