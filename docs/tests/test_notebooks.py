"""Pages as notebooks, and the pictures that a gallery takes from pages."""

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("myst_nb", reason="the group docs is not installed")

import notebooks
import pictures
from docutils import nodes
from docutils.utils import new_document

from event_ops_harness.headlines import FIGURES

PAGE = """---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  name: python3
---

# Title

{measured}`nest-fast` times, as [a page](../project/measured.md#networks) and {download}`a.py <../a.py>` say.

```{code-cell}
:tags: [remove-input]
print(1)
```
"""
REPOSITORY = "https://github.com/someone/something"


def made():
    return json.loads(notebooks.notebook(PAGE, "https://site/tutorials/page.html", REPOSITORY))


def test_a_notebook_installs_what_it_needs_and_has_the_cells_of_the_page():
    first, text, code = made()["cells"]
    assert f"event-ops @ git+{REPOSITORY}#subdirectory=ops" in "".join(first["source"])
    assert (text["cell_type"], "".join(code["source"])) == ("markdown", "print(1)")


def test_a_notebook_has_no_syntax_of_the_site():
    said = "".join(made()["cells"][1]["source"])
    link = "[a page](https://site/project/measured.html#networks)"
    assert said.splitlines()[-1] == f"{FIGURES['nest-fast']()} times, as {link} and `a.py` say."


def test_a_page_whose_cells_read_the_repository_is_no_notebook():
    assert notebooks.is_notebook(PAGE)
    assert not notebooks.is_notebook(PAGE.replace("print(1)", 'open("../README.md")'))
    assert not notebooks.is_notebook("# Title\n\n```sh\nls\n```\n")


def filled(images):
    document = new_document("gallery")
    document += pictures.Place("", index="tutorials/index")
    env = SimpleNamespace(
        toctree_includes={"tutorials/index": ["tutorials/a"]},
        titles={"tutorials/a": nodes.title("", "A")},
        images=images,
    )
    builder = SimpleNamespace(get_relative_uri=lambda page, to: f"{to}.html")
    pictures.fill(SimpleNamespace(env=env, builder=builder), document, "gallery")
    return document


def test_a_card_leads_to_the_page_and_shows_its_last_picture():
    of_other = {"other.png": ({"tutorials/b"}, "other.png")}
    drawn = {"1.png": ({"tutorials/a"}, "1.png"), "2.png": ({"tutorials/a"}, "2.png")}
    (link,) = filled(drawn | of_other).findall(nodes.reference)
    assert link["refuri"] == "tutorials/a.html" and link.children[-1].astext() == "A"
    (image,) = link.findall(nodes.image)
    assert (image["uri"], image["alt"]) == ("2.png", "A picture of A")
    assert not list(filled(of_other).findall(nodes.image))


def test_a_picture_of_a_cell_is_said_to_be_of_its_section():
    document = new_document("page")
    image = nodes.image(uri="hash.png")
    cell = nodes.container("", nodes.container("", image, classes=["cell_output"]), classes=["cell"])
    inner = nodes.section("", nodes.title("", "Delays"), cell)
    document += nodes.section("", nodes.title("", "Rates"), inner)
    pictures.describe(document)
    assert image["alt"] == "A picture that the code above draws: Delays"
