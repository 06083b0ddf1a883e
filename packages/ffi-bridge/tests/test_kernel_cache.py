"""What is stored is read back whole, or not at all; and no folder, file or other user makes a call fail."""

import errno
import os
import threading

import pytest

from ffi_bridge import kernel_cache
from ffi_bridge.kernel_cache import Entry

pytestmark = pytest.mark.promise(6)

ENTRY = Entry({"entry": "f", "symbols": ["sqrt", "Δ"]}, bytes(range(256)) * 9)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(place))
    return place


def the_file(folder):
    (path,) = folder.glob("*.kernel")
    return path


def test_what_is_stored_is_read_back():
    assert kernel_cache.load("k") is None
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") == ENTRY
    assert kernel_cache.load("other") is None


def test_storing_again_replaces():
    kernel_cache.store("k", ENTRY)
    kernel_cache.store("k", Entry({}, b""))
    assert kernel_cache.load("k") == Entry({}, b"")


def test_only_its_user_can_read_the_folder(folder):
    kernel_cache.store("k", ENTRY)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert the_file(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["empty", "truncated", "longer", "other", "flipped"])
def test_a_damaged_file_is_as_good_as_none(folder, damage):
    kernel_cache.store("k", ENTRY)
    path = the_file(folder)
    content = path.read_bytes()
    for position in range(len(content)) if damage == "flipped" else [0]:
        path.write_bytes(
            {
                "empty": b"",
                "truncated": content[: len(content) // 2],
                "longer": content + b"\0",
                "other": b"\x7fELF" + content,
                "flipped": content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :],
            }[damage]
        )
        assert kernel_cache.load("k") is None
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") == ENTRY


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_what_others_may_write_is_not_read(folder, mode):
    kernel_cache.store("k", ENTRY)
    the_file(folder).chmod(mode)
    assert kernel_cache.load("k") is None


def test_what_lies_in_a_folder_that_others_may_write_is_not_read(folder):
    kernel_cache.store("k", ENTRY)
    folder.chmod(0o777)
    assert kernel_cache.load("k") is None


def test_what_somebody_else_wrote_is_not_read(monkeypatch):
    kernel_cache.store("k", ENTRY)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert kernel_cache.load("k") is None


def test_off_keeps_nothing(folder, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", "off")
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") is None
    assert kernel_cache.clear() == 0
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_no_error(folder):
    folder.write_text("a file")
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") is None


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    class Full:
        def __init__(self, handle, mode):
            os.close(handle)

        def __enter__(self):
            return self

        def __exit__(self, *error): ...

        def write(self, content):
            raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "fdopen", Full)
    kernel_cache.store("k", ENTRY)
    assert list(folder.iterdir()) == []


def test_readers_see_whole_files_while_others_write():
    entries = [Entry({"number": i}, bytes([i]) * 100_000) for i in range(4)]
    kernel_cache.store("k", entries[0])
    done, wrong = threading.Event(), []

    def write(entry):
        while not done.is_set():
            kernel_cache.store("k", entry)

    writers = [threading.Thread(target=write, args=(entry,)) for entry in entries]
    for writer in writers:
        writer.start()
    for _ in range(300):
        if (found := kernel_cache.load("k")) not in entries:
            wrong.append(found)
    done.set()
    for writer in writers:
        writer.join()
    assert wrong == []


def test_clear_deletes_what_is_kept_and_nothing_else(folder):
    kernel_cache.store("k", ENTRY)
    kernel_cache.store("l", ENTRY)
    (folder / "mine.txt").write_text("")
    assert kernel_cache.clear() == 2
    assert kernel_cache.load("k") is None
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/ffi_bridge"),
        ({"HOME": "/home/jo"}, "/home/jo/.cache/ffi_bridge"),
        ({"XDG_CACHE_HOME": "/caches", "FFI_BRIDGE_CACHE_DIR": "/here"}, "/here"),
    ],
)
def test_where_kernels_are_kept(monkeypatch, environment, expected):
    for name in ("FFI_BRIDGE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(kernel_cache.folder()) == expected
