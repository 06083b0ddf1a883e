"""Compare two folders of wheels and sdists: the same sources have to give the same bytes.

usage: python ci/tools/same_builds.py FOLDER FOLDER
"""

import hashlib
import sys
from pathlib import Path


def digests(folder: Path) -> dict[str, str]:
    """Name of each file -> its hash."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def differences(one: Path, other: Path) -> list[str]:
    """Return a line for each file that is in one folder only or differs."""
    a, b = digests(one), digests(other)
    only = [f"{name}: built once only" for name in sorted(a.keys() ^ b.keys())]
    return only + [f"{name}: two builds differ" for name in a.keys() & b.keys() if a[name] != b[name]]


if __name__ == "__main__":
    found = differences(*map(Path, sys.argv[1:]))
    print("\n".join(found) or f"{len(digests(Path(sys.argv[1])))} files, the same bytes in two builds")
    sys.exit(bool(found))
