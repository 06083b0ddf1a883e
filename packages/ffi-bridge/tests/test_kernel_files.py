"""Files of the kernel cache: what is damaged, forged or misnamed is as good as none; what is old goes."""

import os
import random
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ffi_bridge import kernel_cache
from ffi_bridge.errors import KernelCacheWarning
from ffi_bridge.kernel_cache import Entry

pytestmark = pytest.mark.promise(6)

ENTRY = Entry({"entry": "f", "symbols": ["sqrt", "Δ"]}, bytes(range(256)) * 9)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(place))
    kernel_cache._warn.cache_clear()
    kernel_cache._forget_old.cache_clear()
    return place


def the_file(folder):
    (path,) = folder.glob("*.kernel")
    return path


def test_two_files_that_have_changed_names_are_as_good_as_none(folder):
    other = Entry({"entry": "g"}, b"other")
    kernel_cache.store("k", ENTRY)
    kernel_cache.store("l", other)
    one, two = folder / "k.kernel", folder / "l.kernel"
    one.rename(folder / "aside")
    two.rename(one)
    (folder / "aside").rename(two)
    assert kernel_cache.load("k") is None
    assert kernel_cache.load("l") is None
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") == ENTRY


def forged(key, facts, code=b"code"):
    """Return a file whose checksum is right, with any text for its facts."""
    body = len(facts).to_bytes(8, "little") + facts + code
    return kernel_cache._MAGIC + kernel_cache._checksum(key, body) + body


FACTS = {
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "list": b"[1]",
    "number": b"1",
    "null": b"null",
    "text": b'"entry"',
    "no utf-8": b'{"entry": "\xff"}',
    "digits": b'{"entry": ' + b"9" * 10_000 + b"}",
    "nothing": b"",
    "two": b"{}{}",
}


@pytest.mark.parametrize("facts", FACTS)
def test_facts_that_are_none_are_as_good_as_no_file(folder, facts):
    kernel_cache.store("k", ENTRY)
    the_file(folder).write_bytes(forged("k", FACTS[facts]))
    assert kernel_cache.load("k") is None
    the_file(folder).write_bytes(forged("k", b'{"entry": "f"}'))
    assert kernel_cache.load("k", entry=str) == Entry({"entry": "f"}, b"code")
    assert kernel_cache.load("k", entry=int) is None
    assert kernel_cache.load("k", slot=(str, type(None))) is None


def test_no_bytes_make_a_call_fail(folder):
    kernel_cache.store("k", ENTRY)
    content, rng = the_file(folder).read_bytes(), random.Random(0)
    start = len(kernel_cache._MAGIC) + kernel_cache._DIGEST
    for _ in range(1000):
        body = bytearray(content[start:])
        for _ in range(rng.randrange(1, 9)):
            body[rng.randrange(min(len(body), rng.choice([12, 60, 3000])))] = rng.randrange(256)
        body = bytes(body[: rng.choice([len(body), len(body), rng.randrange(len(body))])])
        the_file(folder).write_bytes(kernel_cache._MAGIC + kernel_cache._checksum("k", body) + body)
        found = kernel_cache.load("k", entry=str, symbols=list)
        assert found is None or isinstance(found.facts["entry"], str)


def test_a_file_that_is_far_too_large_is_not_read(folder):
    kernel_cache.store("k", ENTRY)
    os.truncate(the_file(folder), kernel_cache._ROOM + 1)
    assert kernel_cache.load("k") is None


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to(path)], ids=["folder", "loop"])
def test_what_is_in_the_place_of_a_file_is_no_error(folder, make):
    folder.mkdir(mode=0o700)
    make(folder / "k.kernel")
    with pytest.warns(KernelCacheWarning):
        assert kernel_cache.load("k") is None
    kernel_cache._warn.cache_clear()
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        kernel_cache.store("k", ENTRY)
        assert kernel_cache.load("k") in (None, ENTRY)
    kernel_cache.clear()


def aged(path, days, size=1):
    """Make a file that was last read so many days ago."""
    path.write_bytes(bytes(size))
    os.utime(path, (time.time() - days * 24 * 3600,) * 2)


def test_what_nobody_has_read_for_long_is_deleted_once_per_process(folder):
    folder.mkdir(mode=0o700)
    for name, days in {"old.kernel": 91, "used.kernel": 89, "x.kernel.part": 2, "y.kernel.part": 0}.items():
        aged(folder / name, days)
    aged(folder / "mine.txt", 1000)
    (folder / "d.kernel").mkdir()
    (folder / "link.kernel").symlink_to(folder / "mine.txt")
    kernel_cache.store("k", ENTRY)
    left = {"used.kernel", "y.kernel.part", "mine.txt", "d.kernel", "link.kernel", "k.kernel"}
    assert {path.name for path in folder.iterdir()} == left
    aged(folder / "old.kernel", 91)
    kernel_cache.store("k", ENTRY)
    assert (folder / "old.kernel").exists()


def test_a_folder_keeps_what_was_read_last(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    for days in range(1, 5):
        aged(folder / f"{days}.kernel", days, size=5000)
    monkeypatch.setattr(kernel_cache, "_ROOM", 15_000)
    kernel_cache.store("k", ENTRY)
    assert {path.name for path in folder.iterdir()} == {"1.kernel", "2.kernel", "k.kernel"}


def test_reading_keeps_a_kernel_alive(folder):
    kernel_cache.store("k", ENTRY)
    os.utime(the_file(folder), (0, 0))
    assert kernel_cache.load("k") == ENTRY
    assert time.time() - the_file(folder).stat().st_mtime < 60


def test_processes_that_tidy_up_at_once_do_not_disturb_each_other(folder):
    folder.mkdir(mode=0o700)

    def tidy(number):
        for i in range(50):
            aged(folder / f"{number}-{i}.kernel", 100)
            kernel_cache._forget_old.__wrapped__(folder)
            kernel_cache.store(f"mine-{number}", ENTRY)
            assert kernel_cache.load(f"mine-{number}") == ENTRY

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tidy, range(4)))
    assert {path.name for path in folder.iterdir()} == {f"mine-{i}.kernel" for i in range(4)}
