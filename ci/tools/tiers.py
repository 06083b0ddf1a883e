"""Sort the tests into tiers: `-m` selects by the marks that this sets, for conftest.py.

Each test is in one tier: the first has no mark, `thorough` is the second, and ci/tiers.toml says what belongs
to it; what is `slow` or a `promise` is in neither.
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TIERS = tomllib.loads((ROOT / "ci" / "tiers.toml").read_text(encoding="utf-8"))
THOROUGH = TIERS["thorough"]
LEFT_OUT = {"thorough": "thorough", "promise": "promises", "slow": "slow"}  # by mark


def values_of(case: Any) -> set[Any]:
    """Return the parameters of a case and what they are, by identity; as one what is parametrized as one."""
    left = dict(case.callspec.params)
    values = set()
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        values.add(tuple((name, id(left.pop(name.strip()))) for name in names))
    return values | {(name, id(value)) for name, value in left.items()}


def each_value_once(cases: list[Any]) -> list[Any]:
    """Return so few cases of a test that each value of each parameter is in one of them, in turns."""
    left = {case: values_of(case) for case in cases}
    shown: Counter[Any] = Counter()
    chosen = []
    if all(len(values) == 1 for values in left.values()):
        return cases  # one parameter of thousands of values
    while left := {case: values for case, values in left.items() if values - shown.keys()}:
        chosen.append(min(left, key=lambda case: sum(shown[value] for value in left[case])))
        shown.update(left[chosen[-1]])
    return chosen


def is_part(name: str, case_id: str) -> bool:
    """Return whether a name is one or more parts of a case's id."""
    return f"-{name}-" in f"-{case_id}-"


def slow_parts(case: Any) -> list[str]:
    """Return what a test's marks `slow_cases` name."""
    return [name for mark in case.iter_markers("slow_cases") for name in mark.args]


def is_thorough(item: Any) -> bool:
    """Return whether ci/tiers.toml names the test, its file or one of its fixtures."""
    file = str(item.path).removeprefix(f"{ROOT}/")
    name = item.nodeid.partition("::")[2].partition("[")[0]
    named = file in THOROUGH["files"] or name in THOROUGH["tests"].get(file, ())
    return named or not set(THOROUGH["fixtures"]).isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any) -> Generator[None, Any, Any]:
    """Refuse a test whose mark `slow_cases` has a name that is part of no case's id.

    Here a test has all of its cases, whichever of them a command asks for.
    """
    cases = yield
    if isinstance(cases, list) and cases:
        ids = [case.callspec.id for case in cases if hasattr(case, "callspec")]
        lost = [name for name in slow_parts(cases[0]) if not any(is_part(name, case_id) for case_id in ids)]
        if lost:
            raise collector.CollectError(
                f"{cases[0].nodeid.partition('[')[0]}: slow_cases names {lost}; expected parts of {ids}"
            )
    return cases


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that the first tier has nothing of."""
    named = {ROOT / file for file in THOROUGH["files"]}
    return True if "not thorough" in config.option.markexpr and collection_path in named else None


@pytest.hookimpl(tryfirst=True)  # before -m selects by marks
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark as slow what `slow_cases` names, and, of tests with several parameters, what only combines
    values that other cases have; mark as thorough what ci/tiers.toml names of all that is left.
    """
    tests = defaultdict(list)
    for item in items:
        if any(is_part(name, item.callspec.id) for name in slow_parts(item)):
            item.add_marker("slow")
        if hasattr(item, "callspec") and not marks_of(item):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        for case in {*cases} - {*each_value_once(cases)}:
            case.add_marker("slow")
    for item in items:
        if not marks_of(item) and is_thorough(item):
            item.add_marker("thorough")


def marks_of(item: Any) -> set[str]:
    """Return which marks of tiers an item has."""
    return {mark.name for mark in item.iter_markers()} & {"slow", "promise"}


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was skipped and why, in a line for each reason, and which sessions run the rest."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("skipped")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5} {reason.removeprefix('Skipped: ').splitlines()[0]}")
    for mark, session in LEFT_OUT.items():
        if f"not {mark}" in config.option.markexpr:
            terminalreporter.line(f"Left out: what is marked {mark}, which `nox -s {session}` runs.")
