"""Write the page from a folder of results."""

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from event_ops_harness.report.inputs import read
from event_ops_harness.report.page import page
from event_ops_harness.results import RESULTS, commit_of


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="report", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--results", type=Path, default=RESULTS, metavar="DIR", help="JSON files; default: harness/results")
    add("--output", type=Path, metavar="FILE", help="the page; default: report.html beside the JSON")
    options = parser.parse_args(argv)
    if not options.results.is_dir():
        parser.error(f"--results: folder {str(options.results)!r} does not exist")
    options.output = options.output or options.results / "report.html"
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Read, render, write; returns the exit status."""
    options = _parse(argv)
    inputs = read(options.results)
    for missing in inputs.missing:
        print(f"{missing.name} {missing.reason}" + (f": {missing.command}" if missing.command else ""))
    text = page(inputs, datetime.date.today().isoformat(), commit_of(options.results))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
