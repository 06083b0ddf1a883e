"""Each test is in one tier; quick ones have each value of each parameter, slow ones combine the values."""

import ast
from pathlib import Path

import pytest
import tiers

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest

@pytest.mark.parametrize("a", "xyz")
@pytest.mark.parametrize("b", "zxw")
@pytest.mark.parametrize("c", ["s", pytest.param("t", marks=pytest.mark.slow)])
def test_several(a, b, c): ...

@pytest.mark.parametrize(("a", "b"), [(1, 2), (1, 3), (4, 2), (4, 3)])
def test_together(a, b): ...

@pytest.fixture(params=[5, 6])
def f(request): ...

@pytest.mark.parametrize("a", [7, 8, 9])
def test_of_a_fixture(a, f): ...

@pytest.mark.promise(1)
@pytest.mark.parametrize("a", "xy")
@pytest.mark.parametrize("b", "xy")
def test_a_promise(a, b): ...
"""


NAMED = """
import pytest

@pytest.mark.slow_cases({names})
@pytest.mark.parametrize("a", ["one weight", "none"])
@pytest.mark.parametrize("b", ["x-y", 3])
def test_some(a, b): ...
"""


@pytest.fixture(autouse=True)
def configured(pytester):
    pytester.makeconftest('pytest_plugins = ["tiers"]')
    pytester.makeini("[pytest]\nmarkers = slow\n    promise\n    slow_cases\n    thorough")


@pytest.fixture
def chosen(pytester):
    pytester.makepyfile(TESTS)
    items = pytester.inline_run("-m", "not slow").getcalls("pytest_runtest_logstart")
    return [item.nodeid.partition("::")[2] for item in items]


def test_each_value_is_in_few_cases(chosen):
    names = [name for name in chosen if name.startswith("test_several")]
    assert names == ["test_several[s-z-x]", "test_several[s-x-y]", "test_several[s-w-z]"]
    fixtures = [name for name in chosen if name.startswith("test_of_a_fixture")]
    assert sorted(fixtures) == ["test_of_a_fixture[5-7]", "test_of_a_fixture[5-9]", "test_of_a_fixture[6-8]"]


def test_what_is_parametrized_together_and_promises_are_all_there(chosen):
    assert [name.partition("[")[0] for name in chosen].count("test_together") == 4
    assert [name.partition("[")[0] for name in chosen].count("test_a_promise") == 4


@pytest.mark.parametrize("asked_for", ["", "::test_some[3-none]"], ids=["all", "one"])
def test_cases_are_slow_that_are_named(pytester, asked_for):
    file = pytester.makepyfile(NAMED.format(names="'one weight', 'x-y'"))
    items = pytester.inline_run("-m", "not slow", f"{file}{asked_for}").getcalls("pytest_runtest_logstart")
    assert [item.nodeid.partition("::")[2] for item in items] == ["test_some[3-none]"]


def test_a_name_of_no_case_is_an_error_that_says_which(pytester):
    pytester.makepyfile(NAMED.format(names="'one weight', 'weight', '3'"))
    done = pytester.inline_run().getfailedcollections()
    (failed,) = map(str, [report.longrepr for report in done])
    assert "test_some: slow_cases names ['weight']; expected parts of ['x-y-one weight'" in failed


OF_ALL_TIERS = """
import pytest

@pytest.fixture(params="xy")
def gpu(request): ...

def test_of_the_first(): ...

@pytest.mark.thorough
def test_of_the_second(): ...

def test_of_a_fixture(gpu): ...

@pytest.mark.parametrize("a", "xy")
@pytest.mark.parametrize("b", "xy")
@pytest.mark.thorough
def test_of_parameters(a, b): ...

@pytest.mark.slow
def test_that_is_slow(gpu): ...

@pytest.mark.promise(1)
def test_of_a_promise(gpu): ...

@pytest.mark.promise(1)
@pytest.mark.slow
@pytest.mark.thorough
def test_of_a_slow_promise(): ...
"""


def test_a_push_runs_what_is_not_slow_and_the_first_tier_is_part_of_it(pytester):
    file = pytester.makepyfile(OF_ALL_TIERS)
    chosen = {}
    for session, marks in [("all", ""), *tiers.TIERS["sessions"].items()]:
        items = pytester.inline_run("-m", marks, file).getcalls("pytest_runtest_logstart")
        chosen[session] = {item.nodeid.partition("::")[2] for item in items}
    assert chosen["thorough"] | chosen["slow"] == chosen["all"]
    assert not chosen["thorough"] & chosen["slow"]
    assert chosen["tests"] == {"test_of_the_first"}
    assert chosen["promises"] == {"test_of_a_promise[x]", "test_of_a_promise[y]"}


def test_what_the_second_tier_names_is_there():
    files, tests = tiers.THOROUGH["files"], tiers.THOROUGH["tests"]
    assert files == sorted(set(files)) and list(tests) == sorted(tests) and not set(files) & tests.keys()
    assert all((ROOT / file).is_file() for file in files)
    for file, named in tests.items():
        body = ast.parse((ROOT / file).read_text()).body
        assert named and set(named) <= {node.name for node in body if isinstance(node, ast.FunctionDef)}, file
