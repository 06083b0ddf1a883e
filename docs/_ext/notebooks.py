"""Make a notebook to download of each page whose cells need nothing of the repository, and a link to Colab.

It is written to `_notebooks` of the site when the page is. Colab opens the copy that a release pushes to the
branch of the site.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

from event_ops_harness.headlines import quote

FOLDER = "_notebooks"
BRANCH = "gh-pages"
DISTRIBUTIONS = {"packages/ffi-bridge": "ffi-bridge[numba,warp]", "ops": "event-ops"}  # by folder
_LINK = re.compile(r"(\]\()(?!https?:|#)([^)#]+)\.md\b")


def setup(app: Any) -> dict[str, bool]:
    """Look at each page as it is written; `repository` is an address on GitHub."""
    app.add_config_value("repository", "", "html", str)
    app.connect("html-page-context", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Write the notebook of a page, and put links to it below the title."""
    source = Path(app.srcdir, f"{pagename}.md")
    if not source.exists() or not is_notebook(text := source.read_text(encoding="utf-8")):
        return
    repository, site = app.config.repository, app.config.html_baseurl
    written = notebook(text, f"{site}{pagename}.html", repository)
    path = Path(app.outdir, FOLDER, f"{pagename}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written, encoding="utf-8")
    file = f"{FOLDER}/{pagename}.ipynb"
    here = f'<a href="{context["pathto"](file, resource=True)}" download>Notebook</a>'
    branch = f"{repository.removeprefix('https://github.com/')}/blob/{BRANCH}"
    colab = f'<a href="https://colab.research.google.com/github/{branch}/{file}">Open in Colab</a>'
    links = f'</h1>\n<p class="notebook">{here} {colab}</p>'
    context["body"] = context["body"].replace("</h1>", links, 1)


def is_notebook(text: str) -> bool:
    """Return whether a page has cells, all of which run anywhere."""
    cells = re.findall(r"^```\{code-cell\}(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return bool(cells) and not any("../" in cell for cell in cells)


def notebook(text: str, address: str, repository: str) -> str:
    """Return a page as a notebook: a cell that installs, links to the site, figures in place of roles."""
    made: Any = read_myst_markdown_notebook(text)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source, lambda page: _absolute(address, page))
    sources = " ".join(
        f'"{name} @ git+{repository}#subdirectory={folder}"' for folder, name in DISTRIBUTIONS.items()
    )
    install = f"%pip install -q {sources} matplotlib  # once, e.g. on Colab"
    made.cells.insert(0, nbformat.v4.new_code_cell(install))
    for number, cell in enumerate(made.cells):
        cell["id"] = f"cell-{number}"
    return nbformat.writes(made, version=4)


def plain(text: str, absolute: Callable[[str], str]) -> str:
    """Return Markdown with figures in place of roles, and links to the site in place of links to pages."""
    text = re.sub(r"\{measured\}`([^`]+)`", lambda found: quote(found[1]), text)
    text = re.sub(r"\{\w+(?::\w+)*\}`([^`<]+?)(?: <[^`]*>)?`", r"`\1`", text)
    return _LINK.sub(lambda found: found[1] + absolute(found[2]), text)


def _absolute(address: str, page: str) -> str:
    parts = address.rsplit("/", 1)[0].split("/")
    for part in page.split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts) + ".html"
