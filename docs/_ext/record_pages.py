"""Write a page for each benchmark: everything that its records have, in folded tables.

They are written to `project/records` before Sphinx reads its sources, and are not part of git. What they show
is what `nox -s report` shows, which also draws each case.
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from root_pages import write_pages

from event_ops_harness.headlines import records
from event_ops_harness.report.conformance import Ids
from event_ops_harness.report.page import benchmarks
from event_ops_harness.report.sections import section
from event_ops_harness.report.tables import Table


def setup(app: Any) -> dict[str, bool]:
    """Write the pages first."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "project" / "records"))
    return {"parallel_read_safe": True}


def write(folder: Path) -> None:
    """Write changed pages, and an index of them."""
    inputs = records()
    sections = {name: section(name, inputs.named(name), Ids()) for name in benchmarks(inputs)}
    write_pages(folder, {**{name: page(x) for name, x in sections.items()}, "index": index(sections)})


def page(content: dict[str, Any]) -> str:
    """Return the page of a benchmark, a table for each operator that it times, and for the rest."""
    tables = [(panel["title"], panel["remark"], panel["table"]) for panel in content["panels"]]
    tables += [(table.title, f"{len(table.rows)} rows", table) for table in content["tables"]]
    folded = "\n".join(fold(title, remark, table) for title, remark, table in tables)
    notes = "\n".join(f"- {note}" for note in content["notes"])
    measured = ["Measured by:", "\n".join(f"- `{command}`" for command in content["commands"])]
    parts = [f"# {content['title']}", content["lead"], *(measured if content["commands"] else [])]
    parts.append(f"```{{raw}} html\n{folded}\n```")
    return "\n\n".join([*filter(None, parts), *(["## Remarks", notes] if notes else [])]) + "\n"


def fold(title: str, remark: str, table: Table) -> str:
    """Return a table in HTML that is folded until it is asked for."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.heads)
    rows = "\n".join(f"<tr>{_cells(cell.text for cell in row)}</tr>" for row in table.rows)
    inside = f'<div class="table-wrapper"><table class="docutils"><thead><tr>{head}</tr></thead><tbody>{rows}'
    summary = f"<summary><b>{escape(title)}</b> {escape(remark)}</summary>"
    return f'<details class="figures">{summary}{inside}</tbody></table></div></details>'


def _cells(texts: Iterable[str]) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in texts)


LEAD = (
    "Everything in `harness/results`, a page for each benchmark, in folded tables. "
    "[The charts](../measured.md) are made of the same records. "
    "`nox -s report` makes one page of them all, or of yours."
)


def index(sections: dict[str, dict[str, Any]]) -> str:
    """Return the page that lists the benchmarks."""
    rows = [f"- [{x['title']}]({name}.md): {_amount(x)}. {x['lead']}" for name, x in sections.items()]
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *sections, "```"])
    return "\n\n".join(["# All records", LEAD, "\n".join(rows), toctree]) + "\n"


def _amount(content: dict[str, Any]) -> str:
    tables: Sequence[Any] = [*content["panels"], *content["tables"]]
    return f"{len(tables)} {'table' if len(tables) == 1 else 'tables'}"
