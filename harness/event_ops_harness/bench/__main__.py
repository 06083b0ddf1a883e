"""Run a benchmark with pytest: `NAME`, then pytest's options; or `--compare BASE`, see `compare.py`.

NAME is that of a file in `suites`, whose docstring says what it measures; by default the catalog. What
`--benchmark-json FILE` writes names the command that measures the same again, and nothing of this machine but
what figures depend on.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from event_ops_harness.bench import compare
from event_ops_harness.bench.rivals import libraries
from event_ops_harness.results import command, machine

SUITES: Final = Path(__file__).parent / "suites"
USUAL: Final = (
    "--noconftest",  # that of the repository has JAX compile without optimizations
    *("--benchmark-only", "-q", "--tb=short", "-W", "default"),  # warnings are those of rivals
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # this package is imported already
    *("--benchmark-sort", "mean", "--benchmark-columns", "median,iqr,rounds"),
    # Its own default is a second, and there are hundreds of members.
    *("--benchmark-max-time", "0.2"),
)


class Suites:
    """Add the options of the suites, and make files small, and independent of the machine."""

    def __init__(self, command: str) -> None:
        self._command = command

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Add the options; each suite names the ones that it takes, and their defaults."""
        group = parser.getgroup("benchmarks of event-ops")
        group.addoption("--sizes", type=numbers, metavar="A,B", help="other sizes than the usual ones")
        group.addoption("--cores", type=numbers, metavar="A,B", help="how many a simulator may use")
        group.addoption("--seconds", type=float, metavar="S", help="model time of a round")
        group.addoption(
            "--rivals-python", metavar="PYTHON", help="has the simulators; default: $CUBA_RIVALS_PYTHON"
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the libraries that are not measured."""
        for library, reason in libraries()[1].items():
            terminalreporter.line(f"not measured, {library}: {reason}")

    def pytest_benchmark_update_machine_info(self, machine_info: dict[str, Any]) -> None:
        """Replace the names of the machine."""
        # pytest-benchmark has written the host's name among them.
        machine_info.clear()
        machine_info.update(machine())

    def pytest_benchmark_update_commit_info(self, commit_info: dict[str, Any]) -> None:
        """Leave out the folder's name, and that of the branch."""
        for name in {"project", "branch"} & set(commit_info):
            del commit_info[name]

    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Add the command; leave out digits that are noise, and options, which the command has."""
        output_json["command"] = self._command
        for entry in output_json["benchmarks"]:
            del entry["options"]
            entry |= {key: rounded(entry[key]) for key in ("stats", "extra_info")}

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Write the file anew, a line for each entry."""
        path = config.getoption("benchmark_json")
        if path and Path(path).exists():
            record = json.loads(Path(path).read_text())
            # JSON is indented as a whole or not at all: with a line for each entry a diff shows single ones.
            entries = ",\n".join(map(json.dumps, record.pop("benchmarks")))
            Path(path).write_text(f'{json.dumps(record)[:-1]}, "benchmarks": [\n{entries}\n]}}\n')


def numbers(text: str) -> list[float]:
    """Parse `A,B`. Raises ValueError where one of them is not a number greater than 0."""
    values = [float(x) if "." in x else int(x) for x in text.split(",")]
    if min(values) <= 0:
        raise ValueError(f"{text!r}: expected numbers greater than 0")
    return values


def rounded(value: Any) -> Any:
    """Return the value, with five digits of each float in it: more are noise."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(x) for key, x in value.items()}
    return [rounded(x) for x in value] if isinstance(value, list | tuple) else value


def main(argv: Sequence[str]) -> int:
    """Run pytest; return its exit status."""
    if "--compare" in argv[:1]:
        return compare.main(argv[1:])
    name, options = ("catalog", argv) if not argv or argv[0].startswith("-") else (argv[0], argv[1:])
    suite = SUITES / f"test_{name}.py"
    if not suite.exists():
        names = ", ".join(sorted(path.stem.removeprefix("test_") for path in SUITES.glob("test_*.py")))
        print(f"no benchmark named {name!r}: choose one of {names}", file=sys.stderr)
        return 2
    return pytest.main([str(suite), *USUAL, *options], [Suites(command("bench", [name, *options]))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
