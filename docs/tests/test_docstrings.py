"""Examples in docstrings are run."""

import doctest
import importlib
import inspect

import pytest

PACKAGES = ("ffi_bridge", "event_ops")
# The names that most users begin with.
SHOWN = {
    *("ffi_bridge.numba_kernel", "ffi_bridge.XLACustomKernel", "ffi_bridge.use_backend"),
    *("event_ops.CSR", "event_ops.Events", "event_ops.csr_event_matvec", "event_ops.lif_step"),
    *("event_ops.expsyn_step", "event_ops.segment_sum", "event_ops.spike_compact", "event_ops.trace_decay"),
}


def public(package):
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", dir(module)):
        value = getattr(module, name)
        if not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
            yield f"{package}.{name}", value


def examples():
    finder = doctest.DocTestFinder()
    for package in PACKAGES:
        for name, value in public(package):
            globs = {"event_ops": importlib.import_module("event_ops")}
            yield from (test for test in finder.find(value, name, module=False, globs=globs) if test.examples)


EXAMPLES = list(examples())


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(example, capsys):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.DocTestRunner(optionflags=flags).run(example)
    assert outcome.failed == 0, capsys.readouterr().out


def test_the_main_names_have_an_example():
    assert {example.name for example in EXAMPLES} >= SHOWN
