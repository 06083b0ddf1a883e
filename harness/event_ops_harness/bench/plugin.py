"""Plugin for pytest: the fixture `in_turns` times rivals in turns, and hands rounds to pytest-benchmark.

pytest-benchmark times one test after the other: a machine that slows down in between decides who is fastest.
Here all members of a group have a turn in every round, and each test reports one of them; tables, files and
comparisons are those of pytest-benchmark. `extra_info` says how many times as long as the fastest rival a
member takes, with an interval by ranks, and `--benchmark-ratio-fail` fails what is beyond a limit:

    MEMBERS = {"mine": lambda: mine(x), "NumPy": lambda: np.cumsum(x)}

    @pytest.mark.parametrize("member", MEMBERS)
    def test_cumsum(in_turns, member):
        in_turns(MEMBERS, member)
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import jax
import numpy as np
import pytest

from event_ops_harness.bench.noise import Change, change
from event_ops_harness.bench.timing import Work, repeated, times_per_step

ALPHA: Final = 0.05  # how often an interval may miss the true ratio
ROUNDS: Final = 10  # at least: fewer say little about noise
_REPLAY: Final = pytest.StashKey["Replay"]()
_MEASURED: Final = pytest.StashKey["Group"]()
_RATIOS: Final = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("benchmark").addoption(
        "--benchmark-ratio-fail",
        metavar="GROUP:RATIO",
        type=limit,
        action="append",
        default=[],
        help="fail where the first member of a group takes more than so many times as long as the fastest "
        "rival, beyond noise; GROUP is how the names of groups begin, empty for all: csr_matvec:1.1, :2",
    )


def limit(text: str) -> tuple[str, float]:
    """Parse `GROUP:RATIO`. Raises ValueError where RATIO is not a number greater than 0."""
    group, colon, ratio = text.rpartition(":")
    if not colon or not float(ratio) > 0:
        raise ValueError(f"{text!r} is not GROUP:RATIO with a number greater than 0")
    return group, float(ratio)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let pytest-benchmark read the times of members from what was measured in turns."""
    for item in items:
        if "in_turns" in getattr(item, "fixturenames", ()):
            given = item.get_closest_marker("benchmark")
            item.stash[_REPLAY] = replay = Replay()
            options = {**(given.kwargs if given else {}), "timer": replay}
            item.add_marker(pytest.mark.benchmark(**options), append=False)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the ratios for the summary."""
    config.stash[_RATIOS] = {}


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the ratio of each group."""
    if found := config.stash[_RATIOS]:
        terminalreporter.section("ratios")
    for group, ratio in found.items():
        terminalreporter.line(f"{group}: {ratio}")


class Replay:
    """A timer of pytest-benchmark that repeats times: every second reading is that much later."""

    __name__ = "in_turns"  # in pytest-benchmark's files

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._runs = False

    def __call__(self) -> float:
        """Return 0 as a round begins, and its seconds as it ends."""
        self._runs = not self._runs
        return 0.0 if self._runs else self.seconds.pop(0)


@dataclass(frozen=True)
class Group:
    """Hold what was measured of a group: the times of a call of each member, and whose values differ."""

    members: Mapping[str, Work]
    seconds: Mapping[str, list[float]]
    wrong: Mapping[str, str]

    def ratio_to(self, rival: str, member: str) -> Change:
        """Return how many times as long as a rival a member takes."""
        if rival == member:
            return Change(1.0, 1.0, 1.0)
        return change(self.seconds[rival], self.seconds[member], ALPHA)

    def fastest(self, names: Collection[str]) -> str | None:
        """Return who of those has the least median; None where nobody of them was measured."""
        medians = {name: statistics.median(x) for name, x in self.seconds.items() if name in names}
        return min(medians, key=lambda name: medians[name], default=None)


class InTurns:
    """Measures groups of members, and reports one member of the group that it is called with."""

    def __init__(self, request: pytest.FixtureRequest, benchmark: Any) -> None:
        self._node, self._config, self._benchmark = request.node, request.config, benchmark

    def __call__(
        self,
        members: Mapping[str, Work],
        member: str,
        *,
        rivals: Collection[str] | None = None,
        rtol: float | None = 1e-5,
    ) -> Any:
        """Report the rounds of `members[member]`; all members have theirs when the first is reported.

        Args:
            members: name -> a function without arguments that does the work and returns its values. The first
                is the one that --benchmark-ratio-fail looks at. The same object in each test of the group.
            member: whose rounds this test reports.
            rivals: those to the fastest of whom ratios refer; default: all but the first.
            rtol: how far values may be from those of the first member, of its largest value; None where they
                are not to be compared. They are compared before anything is timed.

        Returns:
            the values of the member.

        Raises:
            KeyError: `member` is none of the members.
            pytest.fail.Exception: its values differ from the first's, or its ratio is beyond the limit.
        """
        if member not in members:
            raise KeyError(f"{member!r} is none of the members: {', '.join(members)}")
        first = next(iter(members))
        if self._benchmark.disabled:
            found = self._benchmark.pedantic(functools.partial(_ready, members[member]))
            _refuse(first, member, _difference(_ready(members[first]), found, rtol))
            return found
        group = self._measured(members, rtol)
        _refuse(first, member, group.wrong.get(member))
        self._node.stash[_REPLAY].seconds = list(group.seconds[member])
        found = _ready(members[member])
        # The rounds are over: only their times are read.
        self._benchmark.pedantic(lambda: None, rounds=len(group.seconds[member]))
        rival = group.fastest([x for x in members if x != first] if rivals is None else rivals)
        if rival is not None:
            self._compare_with(group, rival, member, is_first=member == first)
        return found

    def _measured(self, members: Mapping[str, Work], rtol: float | None) -> Group:
        """Return the last group that was measured if it is this one; measure it otherwise."""
        stash = self._config.stash
        if _MEASURED not in stash or stash[_MEASURED].members is not members:
            rounds = max(self._option("min_rounds"), ROUNDS)
            stash[_MEASURED] = _measure(members, rtol, rounds, float(self._option("max_time")))
        return stash[_MEASURED]

    def _option(self, name: str) -> Any:
        marker = self._node.get_closest_marker("benchmark")
        return marker.kwargs.get(name, self._config.getoption(f"benchmark_{name}"))

    def _compare_with(self, group: Group, rival: str, member: str, *, is_first: bool) -> None:
        found = group.ratio_to(rival, member)
        self._benchmark.extra_info |= {"rival": rival, **asdict(found)}
        if not is_first:
            return
        name = self._benchmark.group or self._node.name.partition("[")[0]
        said = f"{member} takes {found.ratio:.3g} x the time of {rival} ({found.low:.3g} to {found.high:.3g})"
        self._config.stash[_RATIOS][name] = said
        limits: list[tuple[str, float]] = self._config.option.benchmark_ratio_fail
        if beyond := [most for begins, most in limits if name.startswith(begins) and found.low > most]:
            pytest.fail(f"{name}: {said}, the limit is {min(beyond):g}", pytrace=False)


def _refuse(first: str, member: str, difference: str | None) -> None:
    if difference is not None:
        pytest.fail(f"{member} differs from {first}: {difference}", pytrace=False)


def _ready(work: Work) -> Any:
    return jax.block_until_ready(work())


def _measure(members: Mapping[str, Work], rtol: float | None, rounds: int, budget: float) -> Group:
    """Compare the values of all members, then time those that are right, `budget` seconds each."""
    first, *others = members
    expected = _ready(members[first])
    differences = {name: _difference(expected, _ready(members[name]), rtol) for name in others}
    wrong = {name: said for name, said in differences.items() if said is not None}
    runs = {name: repeated(functools.partial(_ready, x)) for name, x in members.items() if name not in wrong}
    seconds = times_per_step(runs, rounds=rounds, budget=budget)
    return Group(members, seconds, wrong)


def _difference(expected: Any, found: Any, rtol: float | None) -> str | None:
    """Say how values differ by more than `rtol`, in whatever containers they are; None where they do not."""
    if rtol is None:
        return None
    every, own = ([np.asarray(x) for x in jax.tree.leaves(values)] for values in (expected, found))
    if len(own) != len(every):
        return f"{len(own)} arrays, expected {len(every)}"
    try:
        for wanted, got in zip(every, own, strict=True):
            largest = float(np.abs(wanted).max(initial=0))
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * largest)
    except AssertionError as error:
        return str(error).strip()
    return None


@pytest.fixture
def in_turns(request: pytest.FixtureRequest, benchmark: Any) -> Callable[..., Any]:
    """Time the members of a group in turns; see `InTurns.__call__`."""
    return InTurns(request, benchmark)
