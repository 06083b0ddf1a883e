"""Machine code of kernels on disk: one process compiles it, the next one reads it.

Each kernel has one file, named by a hash of all that its machine code depends on, so that no file is ever
out of date: a changed kernel, option, library or processor has another file. A damaged file, and one that
has got another one's name, is passed over and replaced, and no call fails because of the cache.

The folder is `FFI_BRIDGE_CACHE_DIR`, by default `ffi_bridge` in `XDG_CACHE_HOME`, if that is an absolute
path, or in `~/.cache`; "off" keeps nothing. `jax.jit(f).lower(*args)` fills it beforehand with what f calls;
`clear()` empties it. A process that keeps its first kernel deletes those that none has read for 90 days, and
while they take more than 2 GiB together, those that were read the longest ago.

Files are run as machine code, so the folder and its files must belong to this user or to root, and nobody
else may have the right to write them. Other folders and files are neither read nor written, and a
KernelCacheWarning says why and what to do, once per process and reason. A folder that this user may only
read, such as one that root filled when an image was built, is read, and new kernels are not kept, without a
warning. Whoever may read the folder may read the files that are made in it.
"""

import contextlib
import functools
import hashlib
import json
import os
import stat
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from ffi_bridge.errors import KernelCacheWarning

VARIABLE: Final = "FFI_BRIDGE_CACHE_DIR"
OFF: Final = "off"

_SUFFIX: Final = ".kernel"
_PART: Final = ".kernel.part"  # that is being written
# With the number of the format: a file of an older one is passed over.
_MAGIC: Final = b"ffi-bridge kernel 2\n"
_DIGEST: Final = 16  # bytes
_SIZE: Final = 8  # bytes
_ROOT: Final = 0
_BY_OWNER: Final = stat.S_IRUSR | stat.S_IWUSR
_READ_BY_OTHERS: Final = stat.S_IRGRP | stat.S_IROTH
_WRITTEN_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_DAY: Final = 24 * 3600  # seconds
_UNREAD: Final = 90 * _DAY
_ROOM: Final = 2 << 30  # bytes of all kernels together


@dataclass(frozen=True)
class Entry:
    """Machine code, and the facts that its users need, as anything that JSON holds."""

    facts: Mapping[str, Any]
    code: bytes


def folder() -> Path | None:
    """Return the folder that keeps kernels, whether or not it exists; None where kernels are not kept."""
    if (chosen := os.environ.get(VARIABLE)) == OFF:
        return None
    caches = os.environ.get("XDG_CACHE_HOME", "")
    with contextlib.suppress(RuntimeError):  # a user without a home
        if chosen:
            return Path(chosen).expanduser()
        # Its specification has a relative path ignored.
        return (Path(caches) if os.path.isabs(caches) else Path.home() / ".cache") / "ffi_bridge"
    return None


def load(key: str, **facts: type | tuple[type, ...]) -> Entry | None:
    """Return the entry under `key`; None where there is none, or it is damaged or cannot be trusted.

    `facts`: the types of those that it must have.
    """
    place = folder()
    if place is None:
        return None
    try:
        _check_folder(place)
        entry = _unpacked(key, _read(place / (key + _SUFFIX)))
    except (FileNotFoundError, ValueError, RecursionError, MemoryError):
        return None
    except OSError as error:
        _pass_over(place, error)
        return None
    # Nothing that JSON holds is an ellipsis: a fact that is missing has no right type.
    is_whole = all(isinstance(entry.facts.get(name, ...), kind) for name, kind in facts.items())
    return entry if is_whole else None


def store(key: str, entry: Entry) -> None:
    """Keep `entry` under `key`, if the folder allows it; readers see the whole file or none."""
    place = folder()
    if place is None:
        return
    try:
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700, parents=True)
        mode = _BY_OWNER | _check_folder(place) & _READ_BY_OTHERS
        # Asked first: that a folder may only be read is no reason for a warning.
        if os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            _write(place / (key + _SUFFIX), _packed(key, entry), mode)
            _forget_old(place)
    except OSError as error:
        _pass_over(place, error)


def files() -> list[Path]:
    """Return the files of the folder, also files that are being written."""
    place = folder()
    paths = [] if place is None else place.glob(f"*{_SUFFIX}*")
    return [x for x in paths if x.name.endswith((_SUFFIX, _PART)) and (x.is_symlink() or not x.is_dir())]


def clear() -> int:
    """Delete every kernel on disk, and return the number of files; running programs go on."""
    paths = files()
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


@functools.cache
def own_sources() -> str:
    """Return a hash of this package's files: kernels depend on the code that emits their handlers."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".ll"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def settings_of(config: ModuleType) -> dict[str, bool | int | str]:
    """Return a compiler's settings, from a module of constants that the environment sets."""
    return {
        name: value
        for name, value in vars(config).items()
        if name.isupper() and isinstance(value, (bool, int, str))
    }


class _NotTrustedError(OSError):
    """A folder or file is not used; the text says why, and names the remedy."""


def _check_folder(place: Path) -> int:
    """Return the permissions of the folder; raise _NotTrustedError if it must not be used."""
    status = place.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise _NotTrustedError(f"{place} is not a folder; remove it")
    _check_writers(place, status)
    return status.st_mode


def _check_writers(path: Path, status: os.stat_result) -> None:
    """Raise _NotTrustedError if somebody else can have written a file that is run as machine code."""
    # Not every system knows users by number.
    user = os.geteuid() if hasattr(os, "geteuid") else status.st_uid
    if status.st_uid not in (user, _ROOT):
        raise _NotTrustedError(f"{path} belongs to user {status.st_uid}, and this process runs as {user}")
    if status.st_mode & _WRITTEN_BY_OTHERS:
        private = status.st_uid == user and not status.st_mode & stat.S_ISVTX  # /tmp is meant to be writable
        advice = f"; run chmod go-w {path}" if private else ""
        raise _NotTrustedError(f"others than its owner can write {path}{advice}")


def _read(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):  # opening anything else may wait for ever, or have effects
        raise _NotTrustedError(f"{path} is not a regular file; remove it")
    # The file may be exchanged for a pipe after `stat`, on which opening would wait.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        _check_writers(path, status)
        # Nothing larger is read into memory.
        if status.st_size > _ROOM:
            raise ValueError("larger than any kernel")
        if time.time() - status.st_mtime > _DAY:  # its time says when it was last read, to a day
            with contextlib.suppress(OSError):  # of another user, or on a disk that cannot be written
                os.utime(path)
        return file.read()


def _write(path: Path, content: bytes, mode: int) -> None:
    # In the same folder, since only within one file system a file is exchanged in one step.
    handle, written = tempfile.mkstemp(_PART, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(written).chmod(mode)
        # One step for readers: they find the old file or the new one.
        Path(written).replace(path)
    except OSError:
        Path(written).unlink(missing_ok=True)
        raise


@functools.cache
def _forget_old(place: Path) -> None:
    """Delete kernels that nobody has read for long, and the oldest of too many, once per process.

    Other processes may do the same at the same time, or read: who finds a file gone compiles it anew.
    """
    candidates: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            # Files of others may lie here, and links to anywhere.
            if entry.name.endswith((_SUFFIX, _PART)) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    candidates.append((status.st_mtime, status.st_size, entry.path))
    now, size = time.time(), sum(size for _, size, _ in candidates)
    # The oldest go first, until the rest has room.
    for changed, bytes_, path in sorted(candidates):
        is_left_over = path.endswith(_PART) and now - changed > _DAY  # of a process that was killed
        is_one_too_many = path.endswith(_SUFFIX) and size > _ROOM
        if now - changed > _UNREAD or is_left_over or is_one_too_many:
            with contextlib.suppress(OSError):
                Path(path).unlink()
            size -= bytes_


def _pass_over(place: Path, error: OSError) -> None:
    if isinstance(error, _NotTrustedError):
        _warn(str(error))
    elif isinstance(error, PermissionError) and os.path.exists(place):
        _warn(f"{error.filename} may not be read; its owner can allow that by chmod -R a+rX {place}")
    else:
        _warn(f"{place} cannot be used: {error.strerror}")


@functools.cache
def _warn(why: str) -> None:
    """Warn once per process."""
    warnings.warn(
        f"the cache of compiled kernels is not used, and kernels are compiled in every process: {why}. "
        f"{VARIABLE} can name another folder, or be {OFF!r}",
        KernelCacheWarning,
        stacklevel=2,
    )


def _packed(key: str, entry: Entry) -> bytes:
    facts = json.dumps(dict(entry.facts)).encode()
    body = len(facts).to_bytes(_SIZE, "little") + facts + entry.code
    return _MAGIC + _checksum(key, body) + body


def _unpacked(key: str, content: bytes) -> Entry:
    """Return the entry in `content`; raise ValueError unless `_packed` made it, under this key."""
    start = len(_MAGIC) + _DIGEST
    checksum, body = content[len(_MAGIC) : start], content[start:]
    if not content.startswith(_MAGIC) or checksum != _checksum(key, body):
        raise ValueError("not a kernel, or damaged, or of another name")
    end = _SIZE + int.from_bytes(body[:_SIZE], "little")
    facts = json.loads(body[_SIZE:end])
    if not isinstance(facts, dict):
        raise ValueError("its facts are no object")
    return Entry(cast("dict[str, Any]", facts), body[end:])


def _checksum(key: str, body: bytes) -> bytes:
    """Return a hash of a kernel and of its name, by which it could otherwise be taken for another one."""
    digest = hashlib.blake2b(f"{key}\n".encode(), digest_size=_DIGEST)
    digest.update(body)
    return digest.digest()
