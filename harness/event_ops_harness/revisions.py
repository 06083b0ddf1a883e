"""Put a revision of the repository into a separate folder, for as long as it is measured."""

import compileall
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LIBRARIES: Final = {"ffi_bridge": "packages/ffi-bridge", "event_ops": "ops"}

_CHECK: Final = (
    "import importlib, sys; print(*(importlib.import_module(x).__file__ for x in sys.argv[1:]), sep='\\n')"
)


class RevisionError(RuntimeError):
    """A revision that cannot be had, or not be run; the message says why."""


@contextmanager
def worktree(repository: Path, revision: str) -> Iterator[Path]:
    """Make a folder with this revision's files, compiled to bytecode; remove it afterwards, from git, too."""
    commit = git(repository, "rev-parse", "--verify", f"{revision}^{{commit}}")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        git(repository, "worktree", "add", "--detach", str(tree), commit)
        try:
            # Else its first process would compile what that of the working tree finds compiled.
            compileall.compile_dir(tree, quiet=2)
            yield tree
        finally:
            git(repository, "worktree", "remove", "--force", str(tree))


def git(repository: Path, *words: str) -> str:
    """Return git's output. Raises RevisionError with its complaint."""
    # Within a hook, git's variables name the repository that the hook is of, whatever -C says.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, env=env)
    if done.returncode:
        raise RevisionError(f"git {' '.join(words[:2])}: {done.stderr.strip()}")
    return done.stdout.strip()


def environment(tree: Path, harness: Path) -> dict[str, str]:
    """Return the environment in which Python imports the libraries from `tree`, and this harness."""
    paths = [*(str(tree / folder) for folder in LIBRARIES.values()), str(harness)]
    before = os.environ.get("PYTHONPATH", "")
    # In front, so that they come before installed distributions.
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([*paths, *before.split(os.pathsep)] if before else paths)
    }


def check(tree: Path, env: dict[str, str]) -> None:
    """Raise RevisionError unless the libraries are imported from `tree`."""
    done = subprocess.run([sys.executable, "-c", _CHECK, *LIBRARIES], capture_output=True, text=True, env=env)
    if done.returncode:
        raise RevisionError(f"its libraries cannot be imported: {done.stderr.strip().splitlines()[-1]}")
    for file in done.stdout.split():
        if not Path(file).is_relative_to(tree):
            raise RevisionError(
                f"{file} is imported instead of what is in {tree}; expected PYTHONPATH to come first: "
                "install the distributions editable, or not at all"
            )
