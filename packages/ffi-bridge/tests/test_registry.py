"""Names of operators: unique, listed in errors, re-defined by the same code only."""

import inspect
import os
import runpy
from pathlib import Path

import pytest

from ffi_bridge.errors import DuplicateNameError, UnknownOperatorError
from ffi_bridge.operators.kernel import XLACustomKernel, get_operator, get_operators

DEFINE = "from ffi_bridge.operators.kernel import XLACustomKernel\n"


def test_get_operator_finds_by_name() -> None:
    operator = XLACustomKernel("registry_found")
    assert get_operator("registry_found") is operator
    assert get_operators()["registry_found"] is operator


def test_unknown_name_lists_what_exists() -> None:
    XLACustomKernel("registry_listed")
    with pytest.raises(UnknownOperatorError, match=r"'registry_nope'.*registry_listed"):
        get_operator("registry_nope")


def test_a_second_definition_says_where_the_first_is() -> None:
    line = int(inspect.currentframe().f_lineno) + 1
    XLACustomKernel("registry_twice")
    with pytest.raises(DuplicateNameError, match=rf"already at .*test_registry\.py:{line} .*registry_twice"):
        XLACustomKernel("registry_twice")


def test_a_refused_definition_leaves_the_first_alone() -> None:
    first = XLACustomKernel("registry_kept")
    with pytest.raises(DuplicateNameError):
        XLACustomKernel("registry_kept")
    assert get_operator("registry_kept") is first


def test_another_module_may_not_take_the_name(tmp_path: Path) -> None:
    XLACustomKernel("registry_other_module")
    script = tmp_path / "other.py"
    script.write_text(DEFINE + "XLACustomKernel('registry_other_module')\n")
    with pytest.raises(DuplicateNameError, match=r"other\.py:2"):
        runpy.run_path(str(script), run_name="other_module")


@pytest.mark.promise(6, 8)
def test_the_same_line_run_again_redefines() -> None:
    first, second = (XLACustomKernel("registry_loop") for _ in range(2))
    assert get_operator("registry_loop") is second
    assert first is not second


@pytest.mark.promise(6, 8)
def test_a_notebook_cell_run_again_redefines_even_when_edited() -> None:
    namespace = {"__name__": "__main__"}
    exec(compile(DEFINE + "k = XLACustomKernel('registry_cell')", "<cell 1>", "exec"), namespace)
    code = DEFINE + "\n\nk = XLACustomKernel('registry_cell')"
    exec(compile(code, "<cell 2>", "exec"), namespace)
    assert get_operator("registry_cell") is namespace["k"]


@pytest.mark.promise(6, 8)
def test_a_file_edited_and_reloaded_redefines(tmp_path: Path) -> None:
    script = tmp_path / "edited.py"
    script.write_text(DEFINE + "k = XLACustomKernel('registry_edited')\n")
    runpy.run_path(str(script), run_name="edited")
    script.write_text(DEFINE + "\n\nk = XLACustomKernel('registry_edited')\n")
    os.utime(script, (1, 1))  # a changed time without waiting for the clock
    again = runpy.run_path(str(script), run_name="edited")
    assert get_operator("registry_edited") is again["k"]


def test_tags_select() -> None:
    operator = XLACustomKernel("registry_tagged")
    operator.def_tags("sparse", "event")
    operator.def_tags("linear")
    assert operator.tags == {"sparse", "event", "linear"}
    assert get_operators("event")["registry_tagged"] is operator
    assert "registry_tagged" not in get_operators("dense")


def test_get_operators_is_a_copy() -> None:
    XLACustomKernel("registry_copy")
    get_operators().clear()
    assert "registry_copy" in get_operators()
