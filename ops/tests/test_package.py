"""The package: what it exports, what it loads, and what a folder of the catalog must hold."""

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

import child_python
import pytest

import event_ops
from event_ops import catalog
from event_ops.discover import operators
from event_ops.kernels import numba_cpu

FOLDERS = sorted(p.parent.name for p in Path(catalog.__path__[0]).glob("*/op.py"))


def modules(operator):
    """Return the names of the modules in which the backends of an operator are."""
    on_devices = [x for device in operator.kernel.backends.values() for x in device.values()]
    return {x.builder.partition(":")[0] for x in (operator.kernel.reference, *on_devices)}


def test_a_folder_is_an_operator():
    assert [operator.name for operator in operators()] == FOLDERS
    assert len(FOLDERS) > 0


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_every_operator_is_exported(operator):
    name = operator.name
    line = f"from event_ops.catalog.{name}.op import {name} as {name}"
    exported = getattr(event_ops, name, None)
    assert exported is operator.function, f"add this line to event_ops/__init__.py:\n{line}"
    source = Path(event_ops.__file__).read_text(encoding="utf-8").splitlines()
    assert line in source


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_names_agree_and_backends_are_files(operator):
    assert operator.kernel.name == operator.name
    folder = Path(catalog.__path__[0]) / operator.name
    files = {path.stem for path in folder.glob("*.py")}
    folder_name = f"{catalog.__name__}.{operator.name}."
    own = {module.rpartition(".")[2] for module in modules(operator) if module.startswith(folder_name)}
    assert files - {"__init__", "op", "cases", "oracle", "bench"} == own


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_docstrings_begin_with_a_formula_and_list_every_argument(operator):
    text = operator.function.__doc__
    assert "`" in text.splitlines()[0]
    for name in operator.function.__annotations__.keys() - {"return"}:
        assert f"        {name}:" in text or f" {name}:" in text, name
    assert "Raises:" in text
    assert "Returns:" in text


def test_signatures_can_be_read():
    """Unless annotations are kept as text, `help` writes out the union of ArrayLike: half a page."""
    modules = event_ops, event_ops.eventprop, event_ops.network, event_ops.plasticity
    public = [getattr(module, name) for module in modules for name in dir(module) if name[0] != "_"]
    written_out = [x for x in public if callable(x) and "Union[" in str(inspect.signature(x))]
    assert written_out == [], "begin their files with `from __future__ import annotations`"


def test_names_of_the_package_are_public():
    inner = {"catalog", "checks", "kernels", "sparse", "_Any"}
    assert inner <= vars(event_ops).keys() and not inner & {*dir(event_ops)}


def test_import_loads_no_toolchain_and_no_case():
    code = (
        "import sys, event_ops; assert not [m for m in sys.modules if m.endswith(('.cases', '.oracle'))]; "
        "event_ops.discover.operators(); 'discover' in dir(event_ops) or 1 / 0; "
        "print(sorted({'numba', 'llvmlite', 'warp', 'scipy.sparse'} & set(sys.modules)))"
    )
    assert child_python.output("-c", code, new=True).strip() == "[]"


def test_no_part_of_a_kernel_is_a_parallel_function_of_its_own():
    # Numba enters the parallel regions of a called function with the GIL; the kernel's own are without.
    names = {m.name for m in pkgutil.iter_modules(numba_cpu.__path__, f"{numba_cpu.__name__}.")}
    of_kernels = {name for operator in operators() for name in modules(operator)}
    parts = map(importlib.import_module, names - of_kernels)
    functions = {f for m in parts for f in vars(m).values() if hasattr(f, "targetoptions")}
    assert len(functions) > 5
    assert not [f for f in functions if f.targetoptions.get("parallel")]


def test_version_is_a_string():
    assert event_ops.__version__.split(".")[0].isdigit()


def test_brainevent_that_is_absent_is_named_with_what_installs_it(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("event_ops.brainevent")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "brainevent", None)
    with pytest.raises(ImportError, match=r"pip install 'event-ops\[brainevent\]', under Python 3\.12"):
        importlib.import_module("event_ops.brainevent")
