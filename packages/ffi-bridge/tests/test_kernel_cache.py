"""What is stored is read back whole, or not at all; and no folder, file or other user makes a call fail."""

import contextlib
import errno
import os
import shutil
import signal
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

from ffi_bridge import kernel_cache
from ffi_bridge.errors import KernelCacheWarning
from ffi_bridge.kernel_cache import Entry

pytestmark = pytest.mark.promise(6)

SOMEBODY = 12345
ENTRY = Entry({"entry": "f", "symbols": ["sqrt", "Δ"]}, bytes(range(256)) * 9)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(place))
    kernel_cache._warn.cache_clear()
    return place


@pytest.fixture
def in_time():
    """Fail what waits for ever."""

    def fail(*_):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def give_away(monkeypatch):
    """Have files belong to somebody who is neither this user nor root."""

    def to_somebody(*paths):
        if os.geteuid() == 0:
            for path in paths:
                os.chown(path, SOMEBODY, -1)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)

    return to_somebody


@contextlib.contextmanager
def as_somebody():
    os.seteuid(SOMEBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def passed_over(why):
    return pytest.warns(KernelCacheWarning, match=f"{why}.*FFI_BRIDGE_CACHE_DIR can name another folder")


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
    assert [x.stat().st_mode & 0o077 for x in (folder, the_file(folder))] == [0, 0]


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
    with passed_over(f"can write {the_file(folder)}; run chmod go-w {the_file(folder)}"):
        assert kernel_cache.load("k") is None


def test_a_folder_that_others_may_write_is_neither_read_nor_written(folder):
    kernel_cache.store("k", ENTRY)
    folder.chmod(0o775)
    with passed_over(f"can write {folder}; run chmod go-w {folder}"):
        assert kernel_cache.load("k") is None
    kernel_cache._warn.cache_clear()
    with passed_over("can write"):
        kernel_cache.store("l", ENTRY)
    assert [path.name for path in folder.iterdir()] == ["k.kernel"]
    folder.chmod(0o755)
    assert kernel_cache.load("k") == ENTRY


def test_nobody_is_told_to_make_tmp_private(folder):
    folder.mkdir()
    folder.chmod(0o1777)
    with passed_over(f"can write {folder}[.] "):
        kernel_cache.store("k", ENTRY)


@pytest.mark.parametrize("whose", ["file", "folder"])
def test_what_somebody_else_wrote_is_not_read(folder, give_away, whose):
    kernel_cache.store("k", ENTRY)
    give_away(the_file(folder) if whose == "file" else folder)
    with passed_over(f"belongs to user .*, and this process runs as {os.geteuid()}"):
        assert kernel_cache.load("k") is None


def test_a_folder_of_somebody_else_is_not_written(folder, give_away):
    folder.mkdir(mode=0o755)
    give_away(folder)
    with passed_over("belongs to user"):
        kernel_cache.store("k", ENTRY)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_root_made_is_read_by_others(monkeypatch):
    image = Path(tempfile.mkdtemp())  # that of pytest is closed to others
    try:
        image.chmod(0o755)
        monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(image))
        kernel_cache.store("k", ENTRY)
        with as_somebody():
            assert kernel_cache.load("k") == ENTRY
            kernel_cache.store("l", ENTRY)  # says nothing: the folder is meant to be read only
            assert kernel_cache.load("l") is None
        image.chmod(0o700)
        with as_somebody(), passed_over(f"may not be read; its owner .* chmod -R a[+]rX {image}"):
            assert kernel_cache.load("k") is None
    finally:
        shutil.rmtree(image)


@pytest.mark.parametrize(("mode", "of_files"), [(0o700, 0o600), (0o750, 0o640), (0o755, 0o644)])
def test_who_may_read_the_folder_may_read_its_files(folder, mode, of_files):
    folder.mkdir()
    folder.chmod(mode)
    kernel_cache.store("k", ENTRY)
    assert the_file(folder).stat().st_mode & 0o777 == of_files


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
@pytest.mark.usefixtures("in_time")
def test_what_is_no_file_is_not_opened(folder, make):
    folder.mkdir(mode=0o700)
    path = folder / "k.kernel"
    make(path)
    with passed_over(f"{path} is not a regular file"):
        assert kernel_cache.load("k") is None
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") == ENTRY


@pytest.mark.usefixtures("in_time")
def test_a_fifo_in_the_folder_of_somebody_else_is_not_opened(folder, give_away):
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "k.kernel")
    give_away(folder, folder / "k.kernel")
    with passed_over("belongs to user"):
        assert kernel_cache.load("k") is None


def test_a_reason_is_given_once(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            kernel_cache.store("k", ENTRY)
            kernel_cache.load("k")
    assert [warning.category for warning in seen] == [KernelCacheWarning]


def test_off_keeps_nothing(folder, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", "off")
    kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") is None
    assert kernel_cache.clear() == 0
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_no_error(folder, monkeypatch):
    folder.write_text("a file")
    with passed_over(f"{folder} is not a folder"):
        kernel_cache.store("k", ENTRY)
    assert kernel_cache.load("k") is None
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(folder / "within"))
    with passed_over("within cannot be used: Not a directory"):
        kernel_cache.store("k", ENTRY)


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
    with passed_over("cannot be used: no space left on device"):
        kernel_cache.store("k", ENTRY)
    assert list(folder.iterdir()) == []


def test_readers_see_whole_files_while_others_write():
    entries = [Entry({"number": i}, bytes([i]) * 100_000) for i in range(4)]
    kernel_cache.store("k", entries[0])
    done = threading.Event()

    def write(entry):
        while not done.is_set():
            kernel_cache.store("k", entry)

    writers = [threading.Thread(target=write, args=(entry,)) for entry in entries]
    for writer in writers:
        writer.start()
    wrong = [found for _ in range(300) if (found := kernel_cache.load("k")) not in entries]
    done.set()
    for writer in writers:
        writer.join()
    assert wrong == []


def test_clear_deletes_what_is_kept_and_nothing_else(folder):
    kernel_cache.store("k", ENTRY)
    kernel_cache.store("l", ENTRY)
    (folder / "mine.kernels.txt").write_text("")
    assert kernel_cache.clear() == 2
    assert kernel_cache.load("k") is None
    assert [path.name for path in folder.iterdir()] == ["mine.kernels.txt"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/ffi_bridge"),
        ({"HOME": "/home/jo"}, "/home/jo/.cache/ffi_bridge"),
        ({"HOME": "/home/jo", "XDG_CACHE_HOME": "caches"}, "/home/jo/.cache/ffi_bridge"),
        ({"HOME": "/home/jo", "XDG_CACHE_HOME": ""}, "/home/jo/.cache/ffi_bridge"),
        ({"XDG_CACHE_HOME": "/caches", "FFI_BRIDGE_CACHE_DIR": "/here"}, "/here"),
        ({"HOME": "/home/jo", "FFI_BRIDGE_CACHE_DIR": "~/kernels"}, "/home/jo/kernels"),
    ],
)
def test_where_kernels_are_kept(monkeypatch, environment, expected):
    for name in ("FFI_BRIDGE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(kernel_cache.folder()) == expected
