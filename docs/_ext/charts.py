"""The directive `chart`, which draws records, with a folded table below; the role `measured`, of one figure.

Both read `harness/results` when the site is built, so that a page has what was measured and nothing else.
"""

from typing import Any

from docutils import nodes
from drawn_records import CHARTS
from sphinx.util.docutils import SphinxDirective

from event_ops_harness.headlines import quote
from event_ops_harness.report.drawing import legend
from event_ops_harness.results import RESULTS, markdown_table

LONG = 40  # rows of a table, which is folded then


def setup(app: Any) -> dict[str, bool]:
    """Add the directive and the role."""
    app.add_directive("chart", Chart)
    app.add_role("measured", quoted)
    return {"parallel_read_safe": True}


class Chart(SphinxDirective):
    """Show the chart of this name, a key of CHARTS."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the drawing, and a table that is folded."""
        for file in sorted(RESULTS.glob("*.json")):
            self.env.note_dependency(str(file))
        drawn = CHARTS[self.arguments[0]]()
        table = self.parse_text_to_nodes(markdown_table(drawn.head, drawn.rows))
        if not drawn.svg and len(drawn.rows) < LONG:
            return table
        summary = "The same as a table" if drawn.svg else f"{len(drawn.rows)} figures"
        fold = f'<details class="figures"><summary>{summary}</summary>'
        shown = legend(drawn.names) + drawn.svg if len(drawn.names) > 1 else drawn.svg
        said = self.parse_text_to_nodes(drawn.said) if drawn.said else []
        return [_html(shown + fold), *table, _html("</details>"), *said]


def _html(text: str) -> nodes.Node:
    return nodes.raw("", text, format="html")


def quoted(name: str, rawtext: str, text: str, *_: Any, **__: Any) -> tuple[list[nodes.Node], list[Any]]:
    """Return the node of a figure, by its name."""
    return [nodes.Text(quote(text))], []
