"""A page for each operator of the catalog: its docstring, its definition, and what was found about it.

They are written to `reference/operators` before Sphinx reads its sources, and are not part of git.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from operator_tables import Results, backends, conformance, counted, measured

from event_ops.discover import Operator, operators
from event_ops_harness.table import by_family

ROOT = Path(__file__).parents[2]


def setup(app: Any) -> dict[str, bool]:
    """Write the pages first."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference" / "operators"))
    return {"parallel_read_safe": True}


def write(folder: Path) -> None:
    """Write changed pages, and remove pages of operators that are gone."""
    results = Results.read(ROOT / "harness" / "results")
    pages = {operator.name: page(operator, results) for operator in operators()}
    pages["index"] = index(operators())
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page(operator: Operator, results: Results) -> str:
    """MyST Markdown."""
    name = operator.name
    parts = [
        f"# {name}",
        f"```{{eval-rst}}\n.. autofunction:: event_ops.{name}\n```",
        "## Backends",
        facts(operator),
        backends(operator),
        "## Definition",
        "The reference, in pure JAX, is the definition; every backend agrees with it, within rounding.",
        f"```{{literalinclude}} {source(name, 'reference.py')}\n:language: python\n```",
        "## Conformance",
        conformance(name, results.matrix),
        "## Measured",
        measured(name, results.catalog),
        "## CUDA kernels, counted",
        counted(name, results.counters),
        "## Source",
        sources(name),
    ]
    return "\n\n".join(parts) + "\n"


def facts(operator: Operator) -> str:
    """Dtypes, tags, and whether there are derivatives."""
    dtypes = ", ".join(f"`{dtype}`" for dtype in operator.dtypes)
    tags = ", ".join(sorted(operator.kernel.tags))
    names = list(inspect.signature(operator.function).parameters)
    places = sorted({place for case in operator.cases for place in case.differentiable})
    found = ", ".join(f"`{names[place]}`" for place in places) or "none"
    derivatives = f"Derivatives are tested with respect to: {found}."
    return f"Tested dtypes: {dtypes}. Tags: {tags}. {derivatives}"


def sources(name: str) -> str:
    """Every file of the operator's folder, to read."""
    folder = ROOT / "ops" / "event_ops" / "catalog" / name
    files = [path.name for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    listed = [f"- {{download}}`{file} <{source(name, file)}>`" for file in files]
    return f"`ops/event_ops/catalog/{name}/` in the repository:\n\n" + "\n".join(listed)


def source(name: str, file: str) -> str:
    """Where a page finds a file of an operator."""
    return f"../../../ops/event_ops/catalog/{name}/{file}"


def index(every: Iterable[Operator]) -> str:
    """The list of operators by family, each in the first one that one of its tags names."""
    families = by_family(every)
    parts = ["# Operators", f"{sum(map(len, families.values()))} operators, a page for each."]
    for family, members in families.items():
        rows = [f"- [`{o.name}`]({o.name}.md): {first_sentence(o)}" for o in members]
        parts += [f"## {family}", "\n".join(rows)]
    names = "\n".join(operator.name for members in families.values() for operator in members)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    return "\n\n".join(parts) + "\n"


def first_sentence(operator: Operator) -> str:
    """The docstring's first line, which holds the formula."""
    return (operator.function.__doc__ or "").strip().splitlines()[0]
