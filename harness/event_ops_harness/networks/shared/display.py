"""Show quantities of a run in a table, with the backends that its operators ran on."""

from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from ffi_bridge import get_operator
from ffi_bridge.operators import Explanation


def quantities(rows: Mapping[str, str], title: str | None = None) -> Table:
    """Return a table of two columns: quantity and value."""
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def explanations(operators: Sequence[str], backend: str | None) -> list[Explanation]:
    """Say on which backend each operator runs, and why; raise as a call with `backend` would."""
    return [get_operator(name).explain(backend=backend) for name in operators]


def with_backends(title: str, rows: Mapping[str, str], ran_on: list[Explanation] | str) -> Table:
    """Return a table of quantities, and below them the backends, or how a run in one call goes."""
    table = quantities(rows, title=title)
    table.add_section()
    for name, value, style in backend_rows(ran_on):
        table.add_row(name, escape(value), style=style)
    return table


def backend_rows(ran_on: list[Explanation] | str) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and style; operators with the same choice for the same reasons share their rows."""
    if isinstance(ran_on, str):
        yield "backend", ran_on, ""
        return
    alike: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]] = {}
    for explanation in ran_on:
        key = explanation.backend, explanation.why, explanation.others
        alike.setdefault(key, []).append(explanation.operator)
    for (backend, why, others), operators in alike.items():
        yield "backend", f"{backend}: {why}\n({', '.join(operators)})", ""
        for other, reason in others:
            yield f"  not {other}", reason, "dim"
