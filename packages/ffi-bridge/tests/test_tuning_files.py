"""Files of tuning tables: where they are looked for, and that none of them breaks a call."""

import threading
import warnings
from pathlib import Path
from typing import Any

import child_python
import jax
import pytest
from small_operators import Write, run

from ffi_bridge.errors import KernelTypeError, TuningTableWarning
from ffi_bridge.operators import tuning
from ffi_bridge.operators.kernel import XLACustomKernel

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu", reason="the tables of these tests are those of a CPU"
)


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
    assert child_python.output("-c", PROGRAM, folder, **{tuning.SWITCH: switch}) == f"{result}\n"


@pytest.mark.parametrize(
    ("kind", "file"),
    [("cpu", "cpu"), ("NVIDIA H100 80GB HBM3", "nvidia-h100-80gb-hbm3"), ("TPU v5 (lite)", "tpu-v5-lite")],
)
def test_files_are_named_after_the_kind_of_device(kind: str, file: str) -> None:
    assert tuning.slug(kind) == file
