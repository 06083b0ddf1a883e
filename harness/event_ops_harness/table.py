"""Write tables of operators as registered, by family and by backend, and of figures as recorded.

In a file each is between two comments, `<!-- NAME:begin -->` and `<!-- NAME:end -->`.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from event_ops.discover import Operator, operators
from event_ops_harness import headlines
from event_ops_harness.results import markdown_table

BACKENDS: Final = ("reference", "numba_cpu", "warp", "numba_cuda")
# An operator is of the first family with one of its tags.
FAMILIES: Final = {
    "Neurons and synapses": ("neuron", "synapse"),
    "Traces and plasticity": ("trace", "plasticity"),
    "Spikes, and products with them": ("event-driven",),
    "Sparse matrices": ("sparse", "structure"),
    "Scatter and segments": ("scatter", "segment"),
}
OTHERS: Final = "Others"


def by_family(operators: Iterable[Operator]) -> dict[str, list[Operator]]:
    """Return each family's operators; families without any are left out."""
    families: dict[str, list[Operator]] = {family: [] for family in (*FAMILIES, OTHERS)}
    for operator in operators:
        of = (family for family, tags in FAMILIES.items() if operator.kernel.tags & set(tags))
        families[next(of, OTHERS)].append(operator)
    return {family: members for family, members in families.items() if members}


def by_backend() -> str:
    """Return a row per operator, with the platforms of each backend in the cells."""
    return markdown_table(["operator", "computes", *BACKENDS], [_row(operator) for operator in operators()])


def families() -> str:
    """Return a row per family, with the names of its operators."""
    rows = [
        [family, ", ".join(f"`{operator.name}`" for operator in members)]
        for family, members in by_family(operators()).items()
    ]
    return markdown_table(["family", "operators"], rows)


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "families": families,
    "figures": headlines.table,
    "operators": by_backend,
}


def with_tables(text: str) -> str:
    """Return `text` with a table between each pair of markers. Raises ValueError where there are none."""
    names = re.findall(r"<!-- (\w+):begin -->", text)
    if not names:
        raise ValueError(f"found no <!-- NAME:begin --> of {', '.join(TABLES)}; put it where a table belongs")
    for name in names:
        before, rest = text.split(f"<!-- {name}:begin -->", 1)
        after = rest.split(f"<!-- {name}:end -->", 1)[1]
        text = f"{before}<!-- {name}:begin -->\n{TABLES[name]()}\n<!-- {name}:end -->{after}"
    return text


def _row(operator: Operator) -> list[str]:
    cells = [", ".join(_platforms(operator, backend)) or "-" for backend in BACKENDS]
    return [f"`{operator.name}`", first_sentence(operator).rstrip(".").replace("|", "\\|"), *cells]


def _platforms(operator: Operator, backend: str) -> list[str]:
    kernels = operator.kernel.backends
    return sorted(platform for platform, backends in kernels.items() if backend in backends)


def first_sentence(operator: Operator) -> str:
    """Return the docstring's first line, which holds the formula."""
    return (operator.function.__doc__ or "").strip().splitlines()[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the operators and backends, or write tables into files; return the exit status."""
    parser = argparse.ArgumentParser(prog="table", description=__doc__)
    add = parser.add_argument
    add("--write", type=Path, nargs="+", default=[], metavar="FILE", help="put tables into these files")
    options = parser.parse_args(argv)
    if not options.write:
        print(by_backend())
    for path in options.write:
        path.write_text(with_tables(path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
