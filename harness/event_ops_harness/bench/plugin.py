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

import importlib
import os
import statistics
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import jax
import pytest

from event_ops_harness.bench.interleaved import Group, measure, result_of
from event_ops_harness.bench.timing import Steps, Work
from event_ops_harness.results import packages

CATALOG: Final = Path(__file__).parent / "suites" / "test_catalog.py"
_REPLAY: Final = pytest.StashKey["Replay"]()
_MEASURED: Final = pytest.StashKey[tuple[Mapping[str, Any], "Group"]]()
_RATIOS: Final = pytest.StashKey[dict[str, str]]()
# Set by `--compare`, whose rival is another revision: a member is timed without the rest of its group.
ALONE: Final = "BENCH_ALONE"

_TRIAD: Final = pytest.StashKey[float]()


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


def pytest_configure(config: pytest.Config) -> None:
    """Keep the ratios for the summary."""
    config.stash[_RATIOS] = {}
    config.addinivalue_line("markers", "quick: the first case of each operator of the catalog")


@pytest.hookimpl(tryfirst=True)  # before -k selects
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Time operators, `--operators MODULE --benchmark-only`; let pytest-benchmark read times from here."""
    if session.config.getoption("operators", []) and session.config.getoption("benchmark_only", False):
        # Collected by itself, so that no conftest.py is loaded that lies beside this package.
        items.extend(session.genitems(pytest.Module.from_parent(session, path=CATALOG)))
    for item in items:
        if "in_turns" in getattr(item, "fixturenames", ()):
            mark = item.get_closest_marker("benchmark")
            item.stash[_REPLAY] = replay = Replay()
            options = {**(mark.kwargs if mark else {}), "timer": replay}
            # In front: pytest-benchmark takes the closest mark alone.
            item.add_marker(pytest.mark.benchmark(**options), append=False)


@pytest.hookimpl(optionalhook=True)  # of pytest-benchmark
def pytest_benchmark_update_machine_info(machine_info: dict[str, Any]) -> None:
    """Name the versions that figures depend on."""
    machine_info |= packages()


@pytest.hookimpl(trylast=True)  # below the tables
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the ratio of each group."""
    if ratios := config.stash[_RATIOS]:
        terminalreporter.section("ratios")
    for group, ratio in ratios.items():
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


class InTurns:
    """Measures groups of members, and reports one member of the group that it is called with."""

    def __init__(self, request: pytest.FixtureRequest, benchmark: Any) -> None:
        self._node, self._config, self._benchmark = request.node, request.config, benchmark
        if jax.config.values.get("jax_disable_most_optimizations") and benchmark.enabled:
            pytest.fail(
                "JAX compiles without optimizations here (jax_disable_most_optimizations), so times mean "
                "nothing; if a conftest.py has set it: pytest --noconftest",
                pytrace=False,
            )

    @property
    def rounds(self) -> int:
        """Return --benchmark-min-rounds: how many rounds a member has at least."""
        return self._option("min_rounds")

    def __call__(
        self,
        members: Mapping[str, Work | Steps],
        member: str,
        *,
        rivals: Collection[str] | None = None,
        rtol: float | None = 1e-5,
        info: Mapping[str, Any] | None = None,
    ) -> Any:
        """Report the rounds of `members[member]`; all members have theirs when the first is reported.

        Args:
            members: name -> a function without arguments that does the work and returns its values, or
                `Steps`. The first is the one that --benchmark-ratio-fail looks at. The same object in each
                test of the group.
            member: whose rounds this test reports.
            rivals: ratios refer to the fastest of them. By default, and where none of them is measured, they
                are all but the first; where it is empty, there are no ratios.
            rtol: how far values may be from those of the first member, of its largest value; None where they
                are not to be compared. They are compared before anything is timed.
            info: more for `extra_info`. From "bytes", those that one call must move, follows "share": what
                part of the bandwidth of a STREAM triad, measured in this run, the member reaches.

        Returns:
            the values of the member.

        Raises:
            KeyError: `member` is none of the members.
            pytest.fail.Exception: its values differ from the first's, or its ratio is beyond the limit.
        """
        if member not in members:
            raise KeyError(f"{member!r} is none of the members: {', '.join(members)}")
        chosen = {member: members[member]} if ALONE in os.environ else members
        self.report(self._measured(chosen, rtol), member, rivals=rivals, info=info)
        return result_of(members[member])

    def report(
        self,
        group: Group,
        member: str,
        *,
        rivals: Collection[str] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """Report the rounds of a member of a group that was measured elsewhere, for example in processes.

        The first of `group.seconds` is the first member. A member that was skipped skips the test, and one
        that is wrong fails it.
        """
        if member in group.skipped:
            pytest.skip(f"{member}: {group.skipped[member]}")
        if member in group.wrong:
            pytest.fail(f"{member} {group.wrong[member]}", pytrace=False)
        first = next(iter(group.seconds))
        self._benchmark.name = member  # in tables and files; its `fullname` stays
        self._benchmark.group = self._benchmark.group or self._node.name.partition("[")[0]
        rounds = group.seconds[member]
        self._node.stash[_REPLAY].seconds = list(rounds)
        # The rounds are over: only their times are read.
        self._benchmark.pedantic(lambda: None, rounds=max(1, len(rounds)))
        if not rounds:
            return
        others = [x for x in group.seconds if x != first]
        rival_names = others if rivals is None else rivals
        extra = {"ours": member not in rival_names, "threads": cores()}
        extra |= {**(info or {}), **group.info.get(member, {})}
        if "bytes" in extra and "share" not in extra:
            extra["share"] = extra["bytes"] / statistics.median(rounds) / self._triad()
        self._benchmark.extra_info |= extra
        # Where none of the named ones is measured, all others are rivals.
        rivals = [x for x in others if x in rival_names] or (others if rival_names else [])
        if rival := group.fastest(rivals):
            self._benchmark.extra_info |= {"rival": rival, **asdict(group.ratio_to(rival, member))}
            if member == first:
                self._judge(group, rival, member, rival_names)

    def _measured(self, members: Mapping[str, Work | Steps], rtol: float | None) -> Group:
        """Return the last group that was measured if it is this one; measure it otherwise."""
        measured, group = self._config.stash.get(_MEASURED, (None, None))
        # By identity: the tests of a group hand over one object.
        if measured is not members or group is None:
            limits = None if self._benchmark.disabled else (self.rounds, float(self._option("max_time")))
            group = measure(members, rtol, limits)
            self._config.stash[_MEASURED] = members, group
        return group

    def _option(self, name: str) -> Any:
        marker = self._node.get_closest_marker("benchmark")
        return marker.kwargs.get(name, self._config.getoption(f"benchmark_{name}"))

    def _triad(self) -> float:
        """Return the bytes per second of a STREAM triad beyond the caches, measured once in a run."""
        if _TRIAD not in self._config.stash:
            # Numba is loaded for this alone.
            traffic = importlib.import_module("event_ops_harness.bench.traffic")
            self._config.stash[_TRIAD] = traffic.bytes_per_second(traffic.beyond_cache())
        return self._config.stash[_TRIAD]

    def _judge(self, group: Group, rival: str, first: str, rivals: Collection[str]) -> None:
        """Say how the first member of a group does, and fail where its ratio is beyond the limit."""
        name, change = self._benchmark.group, group.ratio_to(rival, first)
        summary = f"{first}, {change.ratio:.3g} x the time of {rival} ({change.low:.3g} to {change.high:.3g})"
        best = group.fastest([x for x in group.seconds if x not in rivals]) or first
        if best != rival and (lead := group.ratio_to(best, first)).low > 1:
            summary += f", {lead.ratio:.3g} x that of {best}"
        self._config.stash[_RATIOS][name] = summary
        limits: list[tuple[str, float]] = self._config.option.benchmark_ratio_fail
        if beyond := [most for begins, most in limits if name.startswith(begins) and change.low > most]:
            pytest.fail(f"{name}: {summary}, the limit is {min(beyond):g}", pytrace=False)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.fixture
def in_turns(request: pytest.FixtureRequest, benchmark: Any) -> InTurns:
    """Time the members of a group in turns; see `InTurns.__call__`."""
    return InTurns(request, benchmark)
