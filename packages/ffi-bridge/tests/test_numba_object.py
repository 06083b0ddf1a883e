"""A second process reads the machine code of a kernel that a first one compiled, and it does the same."""

import os

import numba
import numpy as np
import pytest
from kernels_elsewhere import run

from ffi_bridge import kernel_cache
from ffi_bridge.numba_cpu import object_code

pytestmark = pytest.mark.promise(6)

SERIAL = """
@numba.njit
def kernel(x, y):
    for i in range(x.size):
        y[i] = 2 * np.exp(x[i])
"""

PARALLEL = """
@numba.njit(parallel=True)
def kernel(x, y):
    for i in numba.prange(x.size):
        y[i] = 3 * np.sin(x[i])
"""

RAISES = """
@numba.njit
def kernel(x, y):
    if x[0] < 0:
        raise ValueError("negative")
    y[:] = x
"""

RAISES_WITH_A_VALUE = RAISES.replace('"negative"', '"negative", i, x[i]').replace(
    "if x[0]", "i = x.size - 1\n    if x[i]"
)

RAISES_IN_A_THREAD = """
@numba.njit
def checked(x):
    if x < 0:
        raise ValueError("negative")
    return x

@numba.njit(parallel=True)
def kernel(x, y):
    for i in numba.prange(x.size):
        y[i] = checked(x[i])
"""

ALLOCATES = """
@numba.njit
def kernel(x, y):
    copy = np.empty(x.size, x.dtype)
    copy[:] = x[::-1]
    y[:] = np.sort(copy)
"""

OVERLOADED = """
def twice(x): ...

@overload(twice)
def _(x):
    return lambda x: 2 * x

@numba.njit
def kernel(x, y):
    for i in range(x.size):
        y[i] = twice(x[i])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "kernels",
    [
        [RAISES_IN_A_THREAD, OVERLOADED],
        pytest.param([SERIAL, PARALLEL, RAISES, RAISES_WITH_A_VALUE, ALLOCATES], marks=pytest.mark.slow),
    ],
    ids=["of all kinds", "simple"],
)
def test_a_second_process_compiles_nothing_and_does_the_same(kernels):
    first, compiled = run(*kernels, batched="batched")
    assert compiled == 2 * len(kernels)  # itself, and in a batch
    assert run(*kernels, batched="batched") == (first, 0)
    assert first.count("raised ValueError: ") == "".join(kernels).count("raise ValueError")


def test_what_has_changed_is_compiled_anew():
    before = [SERIAL, RAISES_IN_A_THREAD, OVERLOADED]
    after = [
        SERIAL.replace("2 *", "4 *"),
        RAISES_IN_A_THREAD.replace("return x", "return x + 1"),
        OVERLOADED.replace("2 * x", "4 * x"),
        SERIAL.replace("@numba.njit", "@numba.njit(fastmath=True)"),
    ]
    first, _ = run(*before)
    changed, compiled = run(*after)
    assert compiled == len(after)
    assert changed != first
    assert run(*before) == (first, 0)


def test_settings_and_sources_count(monkeypatch):
    before = object_code.key_of("name")
    assert object_code.key_of("name") == before
    assert object_code.key_of("other") != before
    with monkeypatch.context() as changed:
        changed.setattr(numba.config, "BOUNDSCHECK", 1)
        assert object_code.key_of("name") != before
    monkeypatch.setattr(numba.config, "CUDA_NRT_STATS", "of numba-cuda", raising=False)
    assert object_code.key_of("name") == before
    monkeypatch.setattr(kernel_cache, "own_sources", lambda: "edited")
    assert object_code.key_of("name") != before


def test_what_refers_to_this_process_is_not_kept(folder):
    from_ctypes = PARALLEL.replace("3 *", "numba.get_num_threads() *")
    with_an_array = RAISES.replace('"negative"', '"negative", x')  # it holds a dtype, a Python object
    assert run(from_ctypes, with_an_array)[1] == 2
    assert list(folder.iterdir()) == []


def test_what_cannot_be_used_is_compiled_anew(folder):
    first, _ = run(SERIAL)
    (kept,) = folder.iterdir()
    key, content = kept.stem, kept.read_bytes()
    kept.write_bytes(content[:-1])
    assert run(SERIAL) == (first, 1)
    assert kept.read_bytes() == content
    entry = kernel_cache.load(key)
    # LLVM ends the process where it finds no such symbol.
    facts = {**entry.facts, "symbols": [*entry.facts["symbols"], "no_such_function"]}
    kernel_cache.store(key, kernel_cache.Entry(facts, entry.code))
    assert run(SERIAL) == (first, 1)
    assert run(SERIAL) == (first, 0)


def test_files_that_have_changed_names_are_compiled_anew(folder):
    first, _ = run(SERIAL, RAISES)
    one, two = folder.iterdir()
    one.rename(folder / "aside")
    two.rename(one)
    (folder / "aside").rename(two)
    assert run(SERIAL, RAISES) == (first, 2)
    assert run(SERIAL, RAISES) == (first, 0)


def test_facts_that_nobody_here_wrote_are_passed_over():
    facts = {"symbols": [], "addresses": {}, "environments": [], "slot": None}
    wrong = [{"symbols": 1}, {"symbols": [1]}, {"addresses": []}, {"addresses": {"a": 5}}, {"slot": {}}]
    for some in (*wrong, {"environments": None}):
        kernel_cache.store(object_code.key_of("f"), kernel_cache.Entry({**facts, **some}, b"code"))
        assert object_code.find("f") is None


EXTENSION = """
import numpy as np
from numba.extending import overload

class Factor:
    def __init__(self, value):
        self.value = value

FACTOR = Factor({factor})

def init():
    @overload(np.i0)
    def times(x):
        factor = FACTOR.value
        return lambda x: factor * x
"""

CALLS_AN_EXTENSION = """
@numba.njit
def kernel(x, y):
    for i in range(x.size):
        y[i] = np.i0(x[i])
"""


def test_kernels_are_kept_beside_an_extension_of_numba(tmp_path):
    about = tmp_path / "an_extension-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: an-extension\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[numba_extensions]\ninit = an_extension:init\n")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    for factor, runs in ((2, 2), (3, 1)):
        (tmp_path / "an_extension.py").write_text(EXTENSION.format(factor=factor))
        for turn in range(runs):
            printed, compiled = run(CALLS_AN_EXTENSION, PYTHONPATH=path)
            assert compiled == (turn == 0)
            assert f"{np.arange(4.0) * factor}" in printed
