"""Tuning tables: which row decides, what goes before it, and that no file breaks a call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_operators import adds, hide

from ffi_bridge import tuning
from ffi_bridge.errors import KernelTypeError, TuningTableWarning
from ffi_bridge.kernel import XLACustomKernel
from ffi_bridge.selection import use_backend

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="the tables of these tests are those of a CPU"
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, name: str) -> Write:
    """Writes cpu.json with rows about the operator of this test, and gives its folder."""

    def write(*changes: dict[str, Any], **header: Any) -> Path:
        row = {"operator": name, "platform": "cpu", "dtypes": "float32 -> float32", "flags": []}
        row |= {"above": 0, "up_to": 8, "backend": "two", "over": "one", "ratio": 1.8}
        table = {"format": tuning.FORMAT, "device_kind": "cpu", "rows": [row | x for x in changes]} | header
        (tmp_path / "cpu.json").write_text(json.dumps(table))
        return tmp_path

    return write


def run(operator: XLACustomKernel, size: int = 1, **options: Any) -> int:
    """The first element of the result on zeros, so which backend ran."""
    x = jnp.zeros(size)
    return int(operator(x, outs=x, **options)[0])


def test_the_row_is_taken_by_the_elements_of_inputs_and_outputs(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}, {"above": 12, "up_to": 14}, {"above": 20, "up_to": None}))
    assert [run(pair, size) for size in (1, 4, 5, 6, 7, 8, 10, 11)] == [2, 2, 1, 1, 2, 1, 1, 2]


def test_a_row_holds_under_jit_and_counts_the_batch(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}))
    f = jax.jit(lambda x: pair(x, outs=x))
    assert (f(jnp.zeros(4))[0], f(jnp.zeros(5))[0]) == (2, 1)
    rows = jax.vmap(lambda x: pair(x, outs=x))
    assert (rows(jnp.zeros((2, 2)))[0, 0], rows(jnp.zeros((2, 3)))[0, 0]) == (2, 1)


def test_a_row_is_about_its_dtypes_and_its_plain_static_arguments(
    pair: XLACustomKernel, write: Write
) -> None:
    pair.def_tuning(write({"flags": ["exact=True", "mode=drop"]}))
    assert run(pair, mode="drop", exact=True) == 2
    assert run(pair, mode="drop", exact=True, count=3) == 2
    assert [run(pair), run(pair, exact=True), run(pair, mode="clip", exact=True)] == [1, 1, 1]
    x = jnp.zeros(1, jnp.int32)
    assert pair(x, outs=x, mode="drop", exact=True) == 1


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({}, "tuned: up to 8 elements, 1.8 x as fast as one, measured on cpu"),
        (
            {"up_to": None, "ratio": 30},
            "tuned: any number of elements, 30.0 x as fast as one, measured on cpu",
        ),
        ({"above": 1}, "tuned: 2 to 8 elements, 1.8 x as fast as one, measured on cpu"),
        ({"above": 1, "up_to": None}, "tuned: above 1 elements, 1.8 x as fast as one, measured on cpu"),
    ],
)
def test_explain_shows_the_row(pair: XLACustomKernel, write: Write, row: dict[str, Any], text: str) -> None:
    pair.def_tuning(write(row))
    x = np.zeros(2)  # float64, which JAX takes as float32
    found = pair.explain(x, outs=jax.ShapeDtypeStruct((2,), jnp.float32))
    assert (found.backend, found.why) == ("two", text)
    assert dict(found.others)["one"] == f"two is {text}"
    assert pair.explain(jax.ShapeDtypeStruct((2,), jnp.float32), outs=jnp.zeros(2)).why == text
    assert pair.explain().backend == pair.defaults["cpu"] == "one"


def test_keyword_scope_and_set_default_go_before_the_table(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}))
    assert run(pair, backend="one") == 1
    with use_backend("one"):
        assert run(pair) == 1
        assert pair.explain(jnp.zeros(1), outs=jnp.zeros(1)).why == "asked for by name"
    pair.set_default("cpu", "one")
    assert run(pair) == 1
    assert pair.explain(jnp.zeros(1), outs=jnp.zeros(1)).why == "the default"
    pair.set_default("cpu", None)
    assert run(pair) == 2


def test_the_table_goes_before_the_default_of_the_definition(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}))
    pair.def_kernel("three", "cpu", adds(3), asdefault=True)
    assert (run(pair), run(pair, 9)) == (2, 3)


def test_a_table_declared_after_the_first_call_takes_effect(pair: XLACustomKernel, write: Write) -> None:
    f = jax.jit(lambda x: pair(x, outs=x))
    assert f(jnp.zeros(1)) == 1
    pair.def_tuning(write({}))
    assert f(jnp.zeros(1)) == 2
    pair.def_tuning(None)
    assert f(jnp.zeros(1)) == 1


def test_a_table_is_read_once(pair: XLACustomKernel, write: Write) -> None:
    folder = write({})
    pair.def_tuning(folder)
    assert run(pair) == 2
    write()
    assert run(pair, 2) == 2


def test_a_backend_that_cannot_run_is_skipped(
    full: XLACustomKernel, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, "warp", "numba")
    full.def_tuning(write({"backend": "warp"}))
    assert run(full) == 1
    found = full.explain(jnp.zeros(1), outs=jnp.zeros(1))
    assert found.backend == "reference" and "tuned" not in str(found)
    assert dict(found.others)["warp"].startswith("warp is not installed")


def test_a_backend_that_lacks_what_the_call_needs_is_skipped(pair: XLACustomKernel, write: Write) -> None:
    pair.def_kernel("two", "cpu", adds(2), lacks=["float32"])
    pair.def_tuning(write({}))
    assert run(pair) == 1


@pytest.mark.parametrize("row", [{"operator": "no_such"}, {"backend": "no_such"}, {"platform": "no_such"}])
def test_rows_about_what_is_not_there_say_nothing(
    pair: XLACustomKernel, write: Write, row: dict[str, Any]
) -> None:
    pair.def_tuning(write(row))
    assert run(pair) == 1


def test_missing_files_folders_and_packages(pair: XLACustomKernel, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none", "ffi_bridge:none"):
        pair.def_tuning(folder)
        assert run(pair) == 1
    pair.def_tuning("no_such_package:tuning")
    with pytest.warns(TuningTableWarning, match="ModuleNotFoundError"):
        assert run(pair) == 1


def spoil(folder: Path, content: bytes) -> Path:
    (folder / "cpu.json").write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "JSONDecodeError"),
        (b"\xff\xfe{", "UnicodeDecodeError"),
        (b"[" * 100_000, "RecursionError"),
        (b"[]", "the file is a list; expected an object"),
        (b"{}", "its format is None; expected 1"),
        (b'{"format": 1, "device_kind": "TPU v9"}', "it was measured on 'TPU v9'; expected 'cpu'"),
        (b'{"format": 1, "device_kind": "cpu", "rows": 3}', "its rows are 3; expected a list"),
        (b'{"format": 1, "device_kind": "cpu", "rows": [3]}', "row 0 is a int; expected an object"),
    ],
)
def test_a_file_that_cannot_be_read_is_warned_of_once(
    pair: XLACustomKernel, tmp_path: Path, content: bytes, said: str
) -> None:
    pair.def_tuning(spoil(tmp_path, content))
    with pytest.warns(TuningTableWarning, match="documented order") as caught:
        assert run(pair) == 1
    assert said in str(caught[0].message) and "cpu.json" in str(caught[0].message) and len(caught) == 1
    assert run(pair, 2) == 1  # a second warning would be an error


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"operator": None}, "row 0 has operator None; expected str"),
        ({"flags": "exact=True"}, "row 0 has flags 'exact=True'; expected list"),
        ({"up_to": "8"}, "row 0 has up_to '8'; expected int or NoneType"),
        ({"above": True}, "row 0 has above True; expected int"),
        ({"above": 8}, "row 0 is above 8, up to 8"),
        ({"above": -1}, "row 0 is above -1"),
        ({"ratio": float("nan")}, "ratio nan"),
    ],
)
def test_a_file_with_a_wrong_row_is_ignored(
    pair: XLACustomKernel, write: Write, row: dict[str, Any], said: str
) -> None:
    pair.def_tuning(write(row))
    with pytest.warns(TuningTableWarning, match=said):
        assert run(pair) == 1


def test_a_file_of_another_format_is_ignored(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({}, format=0))
    with pytest.warns(TuningTableWarning, match="its format is 0; expected 1"):
        assert run(pair) == 1


def test_a_folder_is_a_path_or_names_package_data(
    pair: XLACustomKernel, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = write({}) / f"data_of_{pair.name}"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "inner").mkdir()
    (package.parent / "cpu.json").rename(package / "inner" / "cpu.json")
    monkeypatch.syspath_prepend(package.parent)
    pair.def_tuning(f"{package.name}:inner")
    assert run(pair) == 2
    for wrong in ("tuning", ":tuning", "package:", 3):
        with pytest.raises(KernelTypeError, match=r"expected a pathlib\.Path, or package data"):
            pair.def_tuning(wrong)  # type: ignore[arg-type]


def test_threads_that_ask_first_at_once_warn_once_and_agree(pair: XLACustomKernel, tmp_path: Path) -> None:
    pair.def_tuning(spoil(tmp_path, b"{}"))
    barrier, results = threading.Barrier(8), list[int]()

    def work(size: int) -> None:
        barrier.wait()
        results.append(run(pair, size))

    threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 9)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [1] * 8 and len(caught) == 1


def test_a_symbolic_size_has_no_row(pair: XLACustomKernel, write: Write) -> None:
    pytest.importorskip("flatbuffers", reason="jax.export serialises with flatbuffers")
    pair.def_tuning(write({"up_to": None}))
    shape = jax.export.symbolic_shape("n")
    f = jax.jit(lambda x: pair(x, outs=jax.ShapeDtypeStruct(x.shape, x.dtype)))
    exported = jax.export.export(f)(jax.ShapeDtypeStruct(shape, jnp.float32))
    assert exported.call(jnp.zeros(3))[0] == 1 and f(jnp.zeros(3))[0] == 2


def test_a_platform_without_a_device_here_has_no_table(pair: XLACustomKernel, write: Write) -> None:
    pair.def_tuning(write({"platform": "tpu"}))
    pair.def_kernel("one", "tpu", adds(1))
    pair.def_kernel("two", "tpu", adds(2))
    x = jnp.zeros(1)
    assert pair.explain(x, outs=x, platform="tpu").backend == "one"


PROGRAM = """
import pathlib, sys
import jax.numpy as jnp
from ffi_bridge import XLACustomKernel

operator = XLACustomKernel("switched")
for value, backend in enumerate(("one", "two"), 1):
    operator.def_kernel(backend, "cpu", lambda value=value, **_: lambda x: x + value)
operator.def_tuning(pathlib.Path(sys.argv[1]))
x = jnp.zeros(1)
print(int(operator(x, outs=x)[0]))
"""


@pytest.mark.parametrize(("switch", "result"), [("off", 1), ("", 2)])
def test_the_switch_turns_tables_off(write: Write, switch: str, result: int) -> None:
    folder = write({"operator": "switched"})
    environment = os.environ | {tuning.SWITCH: switch}
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.stdout == f"{result}\n", done.stderr


@pytest.mark.parametrize(
    ("kind", "file"),
    [("cpu", "cpu"), ("NVIDIA H100 80GB HBM3", "nvidia-h100-80gb-hbm3"), ("TPU v5 (lite)", "tpu-v5-lite")],
)
def test_files_are_named_after_the_kind_of_device(kind: str, file: str) -> None:
    assert tuning.slug(kind) == file
