"""Write a page for each operator of the catalog: its docstring, its definition, and its results.

They are written to `reference/operators` before Sphinx reads its sources, and are not part of git.
"""

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from operator_tables import Results, backends, conformance, counted, measured, on_gpu
from root_pages import write_pages

from event_ops.catalog import FAMILIES
from event_ops.discover import Operator, operators
from event_ops_harness.table import by_family, first_sentence

ROOT = Path(__file__).parents[2]
CATALOG = "event_ops.catalog"
# Other names for operators whose own name has these words, so that a search finds them.
ALSO = {
    "event_mat": "SpMSpV, product with a sparse vector",
    "matvec": "SpMV, sparse matrix-vector product",
    "matmat": "SpMM, sparse matrix-matrix product",
    "sddmm": "sampled dense-dense matrix product",
    "tocsc": "sparse transpose",
    "todense": "densify",
    "scatter_": "index_add, at[].add, indexed update",
    "segment_": "group by, segment reduction",
    "lif": "leaky integrate-and-fire",
    "stdp": "spike-timing-dependent plasticity",
    "hh_": "Hodgkin-Huxley",
    "stp_": "synaptic depression and facilitation, Tsodyks-Markram",
    "compact": "compressed, quantized synapses",
    "poisson": "background noise",
    "arrivals": "delay, ring buffer",
    "deliver": "delay, ring buffer",
}


def setup(app: Any) -> dict[str, bool]:
    """Write the pages first."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference" / "operators"))
    return {"parallel_read_safe": True}


def write(folder: Path) -> None:
    """Write changed pages, and remove pages of operators that are gone."""
    results = Results.read(ROOT / "harness" / "results")
    pages = {operator.name: page(operator, results) for operator in operators()}
    write_pages(folder, pages | {"index": index(operators())})


def page(operator: Operator, results: Results) -> str:
    """Return the page of an operator, in MyST Markdown."""
    name = operator.name
    sections = [
        f"# {name}",
        f"```{{eval-rst}}\n.. autofunction:: event_ops.{name}\n```",
        "## Backends",
        facts(operator),
        backends(operator),
        "## Definition",
        "The reference, in pure JAX, is the definition; every backend agrees with it, within rounding.",
        definition(operator),
        "## Conformance",
        conformance(name, results),
        "## Measured",
        measured(name, results.catalog),
        "## On a GPU",
        on_gpu(name, results.gpu),
        "## CUDA kernels, counted",
        counted(name, results.counters),
        "## Source",
        sources(operator),
    ]
    return "\n\n".join(sections) + "\n"


def facts(operator: Operator) -> str:
    """List dtypes, tags, and the arguments with derivatives."""
    dtypes = ", ".join(f"`{dtype}`" for dtype in operator.dtypes)
    tags = ", ".join(sorted(operator.kernel.tags))
    names = list(inspect.signature(operator.function).parameters)
    places = sorted({place for case in operator.cases for place in case.differentiable})
    differentiable = ", ".join(f"`{names[place]}`" for place in places) or "none"
    derivatives = f"Derivatives are tested with respect to: {differentiable}."
    also = "; ".join(said for part, said in ALSO.items() if part in operator.name)
    called = f" Others call it: {also}." if also else ""
    return f"Tested dtypes: {dtypes}. Tags: {tags}. {derivatives}{called}"


def definition(operator: Operator) -> str:
    """Include the definition: a file of the operator, a function of its family's, or the terms of op.py."""
    folder, name = f"{CATALOG}.{operator.name}", operator.name
    module = operator.kernel.reference.builder.partition(":")[0]
    if path(f"{folder}.reference").exists():
        return included(f"{folder}.reference")
    if module.startswith("event_ops.kernels."):
        return included(module, name)
    named = inspect.unwrap(operator.function).__globals__
    terms = [x for name, x in named.items() if name.startswith("of_")]
    return "\n\n".join(included(term.__module__, term.__name__) for term in terms)


def included(module: str, function: str = "") -> str:
    """Return the directive that shows a module, or the one function if it is defined there."""
    options = [":language: python", *([f":pyobject: {function}"] if function in functions(module) else [])]
    return "\n".join([f"```{{literalinclude}} {link(module)}", *options, "```"])


def functions(module: str) -> list[str]:
    """Return the names of the functions of a module."""
    tree = ast.parse(path(module).read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def sources(operator: Operator) -> str:
    """List the files of the operator's folder, and of its family."""
    folder = f"{CATALOG}.{operator.name}"
    modules = [f"{folder}.{file.stem}" for file in sorted(path(f"{folder}.op").parent.glob("*.py"))]
    kernel = operator.kernel
    built = [kernel.reference, *(x for of in kernel.backends.values() for x in of.values())]
    family = sorted({backend.builder.partition(":")[0] for backend in built} - set(modules))
    modules += family if operator.name in FAMILIES else []
    if operator.name in FAMILIES and path(shared := f"event_ops.cases.{FAMILIES[operator.name]}").exists():
        modules.append(shared)
    listed = [f"- {{download}}`{short(x)} <{link(x)}>`" for x in modules if not x.endswith(".__init__")]
    return "In `ops/event_ops/` of the repository:\n\n" + "\n".join(listed)


def path(module: str) -> Path:
    """Return the file of a module of event_ops."""
    return ROOT / "ops" / (module.replace(".", "/") + ".py")


def link(module: str) -> str:
    """Return the path by which a page finds a module of event_ops."""
    return f"../../../ops/{module.replace('.', '/')}.py"


def short(module: str) -> str:
    """Return the path of a module within `ops/event_ops`."""
    return module.removeprefix("event_ops.").replace(".", "/") + ".py"


def index(all_operators: Iterable[Operator]) -> str:
    """List the operators by family, each in the first one that a tag of it names."""
    families = by_family(all_operators)
    sections = ["# Operators", f"{sum(map(len, families.values()))} operators, a page for each."]
    for family, members in families.items():
        rows = [f"- [`{o.name}`]({o.name}.md): {first_sentence(o)}" for o in members]
        sections += [f"## {family}", "\n".join(rows)]
    names = "\n".join(operator.name for members in families.values() for operator in members)
    sections.append(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    return "\n\n".join(sections) + "\n"
