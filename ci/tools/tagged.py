"""Check that a tag is the version of the four distributions, and that all that a release says is true of it.

python3 ci/tools/tagged.py v0.1.0 [ADDRESS]   # ADDRESS is where the repository is that publishes
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "packages/ptx-on-cpu/ptx_on_cpu",
    "packages/ffi-bridge/ffi_bridge",
    "ops/event_ops",
    "harness/event_ops_harness",
)
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
UNPUBLISHED = "not on the index yet"  # what pages say until the first release


def problems(tag: str, root: Path = ROOT, address: str | None = None) -> Iterator[str]:
    """Yield a line for everything that keeps `tag` from being a release."""
    number = tag.removeprefix("v")
    for package in PACKAGES:
        match = VERSION.search(_read(root, f"{package}/__init__.py"))
        version = match[1] if match else "none"
        if tag != f"v{version}":
            yield f"{package} has version {version}; the tag is {tag}, expected v{version}"
    lines = {"CITATION.cff": f"version: {number}", "ci/conda/recipe.yaml": f'  version: "{number}"'}
    for file, line in lines.items():
        if f"\n{line}\n" not in _read(root, file):
            yield f"{file} has another version; expected {line.strip()!r}"
    heading = rf"^## \[{re.escape(number)}\] - \d{{4}}-\d{{2}}-\d{{2}}$"
    if not re.search(heading, _read(root, "CHANGELOG.md"), re.MULTILINE):
        yield f"CHANGELOG.md has no heading '## [{number}] - YYYY-MM-DD': put the day in"
    yield from _untrue(root, address)


def _untrue(root: Path, address: str | None) -> Iterator[str]:
    """Yield a line for each address and sentence that publishing would make wrong."""
    folders = [Path(package).parent for package in PACKAGES]
    for folder in folders:
        urls = tomllib.loads(_read(root, folder / "pyproject.toml"))["project"]["urls"]
        if address and urls["Repository"] != address:
            yield f"{folder}/pyproject.toml says {urls['Repository']}; it is published from {address}"
    for page in ("README.md", "docs/getting-started.md", *(folder / "README.md" for folder in folders)):
        if UNPUBLISHED in _read(root, page):
            yield f"{page} says {UNPUBLISHED!r}: take the sentence out"


def _read(root: Path, file: str | Path) -> str:
    return (root / file).read_text(encoding="utf-8")


def main(argv: list[str]) -> int:
    """Print the problems; return 1 if there are any."""
    faults = list(problems(argv[0], address=argv[1] if len(argv) > 1 else None))
    print("\n".join(faults) or f"{argv[0]} is the version of every distribution")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
