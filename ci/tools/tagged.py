"""Check that a tag is the version of the four distributions and of CITATION.cff, dated in the changelog.

python3 ci/tools/tagged.py v0.1.0
"""

import re
import sys
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


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """A line for everything that keeps `tag` from being a release."""
    for package in PACKAGES:
        found = VERSION.search((root / package / "__init__.py").read_text(encoding="utf-8"))
        version = found[1] if found else "none"
        if tag != f"v{version}":
            yield f"{package} has version {version}; the tag is {tag}, expected v{version}"
    if f"\nversion: {tag.removeprefix('v')}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        yield f"CITATION.cff has another version; expected 'version: {tag.removeprefix('v')}'"
    number = re.escape(tag.removeprefix("v"))
    heading = rf"^## \[{number}\] - \d{{4}}-\d{{2}}-\d{{2}}$"
    if not re.search(heading, (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md has no heading '## [{tag.removeprefix('v')}] - YYYY-MM-DD': put the day in"


def main(argv: list[str]) -> int:
    """Print the problems; return 1 if there are any."""
    found = list(problems(argv[0]))
    print("\n".join(found) or f"{argv[0]} is the version of every distribution")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
