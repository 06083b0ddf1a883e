"""The directive `pictures`, which shows the last picture of each page in the table of contents of another.

    ```{pictures} tutorials/index
    ```

The pictures are those that the pages' cells drew, so a page that joins the table of contents is shown, too.
A picture that a cell drew is said to be of its section, to those who do not see it.
"""

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Pictures(SphinxDirective):
    """Leave a place for the pictures, which are known once every page was read."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        return [Place("", index=self.arguments[0])]


class Place(nodes.General, nodes.Element):
    """Stand for the pictures of the pages that `index` lists."""


def setup(app: Any) -> dict[str, bool]:
    """Add the directive, and fill its places when pages are written."""
    app.add_directive("pictures", Pictures)
    app.add_node(Place)
    app.connect("doctree-read", lambda app, doctree: describe(doctree))
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe(doctree: nodes.document) -> None:
    """Give pictures of cells an alternative text, which would be the name of a file."""
    for output in doctree.findall(nodes.container):
        if "cell_output" in output["classes"]:
            section: Any = output
            while not isinstance(section, nodes.section):
                section = section.parent
            for image in output.findall(nodes.image):
                image["alt"] = f"A picture that the code above draws: {section[0].astext()}"


def fill(app: Any, doctree: nodes.document, docname: str) -> None:
    """Replace each place by a card for each page, with the picture if its cells drew one."""
    for place in list(doctree.findall(Place)):
        pages = app.env.toctree_includes[place["index"]]
        cards = nodes.container("", *(_card(app, docname, page) for page in pages), classes=["cards"])
        place.replace_self(cards)


def _card(app: Any, docname: str, page: str) -> nodes.Node:
    title = app.env.titles[page].astext()
    drawn = [file for file, (pages, _) in app.env.images.items() if page in pages]
    link = nodes.reference("", "", internal=True)
    if drawn:
        link += nodes.image(uri=drawn[-1], candidates={"*": drawn[-1]}, alt=f"A picture of {title}")
    link += nodes.inline("", title)
    link["refuri"] = app.builder.get_relative_uri(docname, page)
    return nodes.paragraph("", "", link, classes=["card"])
