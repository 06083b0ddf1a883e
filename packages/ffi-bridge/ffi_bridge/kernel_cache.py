"""Machine code of kernels on disk: what one process has compiled, the next one reads.

One file per kernel, named by a hash of all that its machine code depends on, so that nothing is ever out of
date: a changed kernel, option, library or processor is another file. A file that is damaged, that belongs to
somebody else, or that cannot be written, is as good as none; no call fails for it.

The folder is `FFI_BRIDGE_CACHE_DIR`, by default `ffi_bridge` in `XDG_CACHE_HOME` or `~/.cache`; "off" keeps
nothing. `jax.jit(f).lower(*args)` fills it beforehand with what f calls; `clear()` empties it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

VARIABLE: Final = "FFI_BRIDGE_CACHE_DIR"
OFF: Final = "off"

_SUFFIX: Final = ".kernel"
_MAGIC: Final = b"ffi-bridge kernel 1\n"
_DIGEST: Final = 16  # bytes
_SIZE: Final = 8  # bytes


@dataclass(frozen=True)
class Entry:
    """Machine code, and what has to be known to use it: anything that JSON holds."""

    facts: Mapping[str, Any]
    code: bytes


def folder() -> Path | None:
    """Where kernels are kept, whether or not it exists; None where none are."""
    if (chosen := os.environ.get(VARIABLE)) == OFF:
        return None
    if chosen:
        return Path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # a user without a home
        return (Path(caches) if caches else Path.home() / ".cache") / "ffi_bridge"
    return None


def load(key: str) -> Entry | None:
    """What was stored under `key`; None where nothing was, or not by this user, or not intact."""
    place = folder()
    if place is None:
        return None
    with contextlib.suppress(OSError, ValueError), (place / (key + _SUFFIX)).open("rb") as file:
        if _is_ours(os.stat(place)) and _is_ours(os.fstat(file.fileno())):
            return _unpacked(file.read())
    return None


def store(key: str, entry: Entry) -> None:
    """Keep `entry` under `key`, if the folder allows it; readers see the whole file or none."""
    place = folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(f"{_SUFFIX}.part", dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_packed(entry))
            Path(written).replace(place / (key + _SUFFIX))
        except OSError:
            Path(written).unlink(missing_ok=True)


def clear() -> int:
    """Delete every kernel that is kept, and return how many files that were; running programs go on."""
    place = folder()
    kept = [] if place is None else list(place.glob(f"*{_SUFFIX}*"))
    for path in kept:
        path.unlink(missing_ok=True)
    return len(kept)


@functools.cache
def own_sources() -> str:
    """A hash of this package's files: what emits handlers is a part of what they depend on."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def settings_of(config: ModuleType) -> dict[str, bool | int | str]:
    """A compiler's settings, from a module of constants that the environment sets."""
    return {
        name: value
        for name, value in vars(config).items()
        if name.isupper() and isinstance(value, (bool, int, str))
    }


def _is_ours(status: os.stat_result) -> bool:
    """Whether nobody else can have written what is run as machine code."""
    owner = os.getuid() if hasattr(os, "getuid") else status.st_uid
    return status.st_uid == owner and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _packed(entry: Entry) -> bytes:
    facts = json.dumps(dict(entry.facts)).encode()
    body = len(facts).to_bytes(_SIZE, "little") + facts + entry.code
    return _MAGIC + _checksum(body) + body


def _unpacked(content: bytes) -> Entry:
    """Raises ValueError for content that is not what `_packed` made."""
    start = len(_MAGIC) + _DIGEST
    checksum, body = content[len(_MAGIC) : start], content[start:]
    if not content.startswith(_MAGIC) or checksum != _checksum(body):
        raise ValueError("not a kernel, or damaged")
    end = _SIZE + int.from_bytes(body[:_SIZE], "little")
    return Entry(json.loads(body[_SIZE:end]), body[end:])


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
