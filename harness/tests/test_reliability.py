"""SECURITY.md names the tests that keep its promises, and the plugin counts what they tried."""

import ast
from pathlib import Path

import pytest

from event_ops_harness import reliability

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
TESTS = [
    path for folder in ("packages", "ops", "harness", "ci") for path in (ROOT / folder).rglob("test_*.py")
]
MARK = "promise"

DOCUMENT = """
### 1. The first
`harness/tests/test_reliability.py::test_nothing` tries, and so does `a/test_b.py::test_c`.

### 2. The second
"""


def numbers(node):
    """Those of `pytest.mark.promise(1, 2)`, wherever it stands in a node."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == MARK:
            yield from (argument.value for argument in call.args)


def marked(path):
    """Test functions of a file -> the promises that they keep."""
    body = ast.parse(path.read_text()).body
    everywhere = {n for node in body if isinstance(node, ast.Assign) for n in numbers(node)}
    return {
        node.name: everywhere | {n for decorator in node.decorator_list for n in numbers(decorator)}
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def known():
    return reliability.promises((ROOT / reliability.DOCUMENT).read_text())


def test_there_are_thirteen():
    assert [promise.number for promise in known()] == list(range(1, 14))


@pytest.mark.parametrize("promise", known(), ids=lambda promise: str(promise.number))
def test_every_promise_names_tests_that_keep_it(promise):
    assert promise.tests
    for file, function in promise.tests:
        assert promise.number in marked(ROOT / file)[function], (file, function)


def test_every_file_of_such_tests_is_named():
    named = {(promise.number, file) for promise in known() for file, _ in promise.tests}
    found = {
        (number, str(path.relative_to(ROOT)))
        for path in TESTS
        for promises in marked(path).values()
        for number in promises
    }
    assert found - named == set()


def test_a_document_is_read():
    first, second = reliability.promises(DOCUMENT)
    assert (first.number, first.title, second.title) == (1, "The first", "The second")
    assert first.tests[1] == ("a/test_b.py", "test_c")
    assert second.tests == ()


PROGRAM = """
import pytest

@pytest.mark.promise(1)
def test_often(record_property):
    record_property("tried", 7)

@pytest.mark.promise(1, 2)
def test_never():
    assert False

@pytest.mark.promise(2)
@pytest.mark.skip(reason="lacks")
def test_lacking(): ...
"""


@pytest.mark.slow
def test_the_table_counts_what_was_tried(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    pytester.makepyfile(PROGRAM)
    pytester.path.joinpath(reliability.DOCUMENT).write_text(DOCUMENT)
    done = pytester.runpytest_subprocess("-p", "event_ops_harness.reliability", "-m", "promise")
    rows = [line.split("│")[1:-1] for line in done.outlines if line.startswith("│")]
    cells = {row[0].strip(): [cell.strip() for cell in row[1:5]] for row in rows}
    assert cells["1. The first"] == ["2", "8", "1", "0"]
    assert cells["2. The second"] == ["2", "1", "1", "1"]
