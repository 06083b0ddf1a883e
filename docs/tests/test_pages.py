"""The sources of the site: what is run, and what every tutorial has."""

import json
import re
from pathlib import Path

import pytest
from root_pages import PAGES as PAGES_OF_ROOT

DOCS = Path(__file__).parents[1]
MADE = {"operators", "records"}  # folders of pages that are made of sources and records
PAGES = {str(path.relative_to(DOCS)): path for path in DOCS.rglob("*.md") if not MADE & set(path.parts)}
TUTORIALS = sorted(name for name in PAGES if name.startswith("tutorials/") and "index" not in name)
COPIED = {f"project/{page}" for page in PAGES_OF_ROOT.values()}
# Programs that are not cells: the first is run by harness/reliability/test_scale_out.py, the other is the
# line that harness/conformance/test_add_operator.py adds.
NOT_CELLS = {"scale-out.md", "how-to/add-an-operator.md"}


def test_programs_are_cells_which_the_build_runs():
    program = re.compile(r"^```python$", re.MULTILINE)
    shown = {name for name, path in PAGES.items() if program.search(path.read_text())}
    assert shown == NOT_CELLS


def test_the_line_that_exports_an_operator_is_the_one_that_is_tested():
    tested = (DOCS.parent / "harness/conformance/test_add_operator.py").read_text()
    (line,) = re.findall(r'^LINE = "(.*)"$', tested, re.MULTILINE)
    assert line in PAGES["how-to/add-an-operator.md"].read_text()


@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if "{code-cell}" in path.read_text()])
def test_a_page_with_cells_is_a_notebook(name):
    assert PAGES[name].read_text().startswith("---\njupytext:\n")


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_begins_with_a_problem_and_ends_with_exercises(name):
    text = PAGES[name].read_text().split("---\n", 2)[2].strip()
    title, problem, *_ = text.split("\n\n")
    assert title.startswith("# ") and problem.startswith("**The problem.**")
    assert text.split("\n## ")[-1].startswith("Exercises\n\n1. ")
    assert "plt." in text


def test_the_nine_tutorials_are_there():
    assert [Path(name).stem for name in TUTORIALS] == [
        *("differentiate-your-kernel", "exact-gradients", "many-backends", "numba-cpu", "numba-cuda"),
        *("spiking-network", "training-words", "training", "warp"),
    ]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_name_no_gpu_that_has_no_record(name):
    text = re.sub(
        r"^\.\. autodata:: .*$", "", PAGES[name].read_text(), flags=re.MULTILINE
    )  # names, no figures
    records = (DOCS.parent / "harness/results").glob("gpu*.json")
    measured = {json.loads(path.read_text()).get("device", "") for path in records}
    assert all(
        any(named in device for device in measured)
        for named in re.findall(r"\b(?:H100|H200|A100|RTX)\b", text)
    )


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(x * y for x, y in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_colours_of_code_in_the_dark_stand_out():
    styles = pytest.importorskip("pygments.styles", reason="pygments is not installed")
    (name,) = re.findall(r'^pygments_dark_style = "(.*?)"', (DOCS / "conf.py").read_text(), re.MULTILINE)
    style = styles.get_style_by_name(name)
    behind = luminance(style.background_color.removeprefix("#"))
    told = {str(token): found["color"] for token, found in style if found["color"] and not found["bgcolor"]}
    ratios = {token: (luminance(colour) + 0.05) / (behind + 0.05) for token, colour in told.items()}
    faint = {token: ratio for token, ratio in ratios.items() if ratio < 4.5}
    assert set(faint) <= {"Token.Text.Whitespace"}


def images(page):
    return re.findall(r"!\[(.*?)\]\(", PAGES[page].read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if images(page)])
def test_an_image_says_what_it_shows(page):
    assert all(len(said.split()) > 3 for said in images(page))


def cells(page):
    """Return the cells of a page's tables, as words; names that follow each other are one."""
    prose = re.sub(r"^```.*?^```", "", PAGES[page].read_text(), flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|(.*)\|$", prose, re.MULTILINE)
    named = (re.sub(r"`[^`]*`(?:, `[^`]*`)*", "name", re.sub(r"\]\([^)]*\)", "", row)) for row in rows)
    return [re.findall(r"\S*\w\S*", cell) for row in named for cell in row.split("|")]


def test_cells_of_tables_have_fifteen_words_at_most():
    found = {page: [" ".join(cell) for cell in cells(page) if len(cell) > 15] for page in {*PAGES} - COPIED}
    assert not {page: long for page, long in found.items() if long}


def test_no_page_has_formulas_which_the_site_does_not_set():
    code = re.compile(r"^```.*?^```|`[^`]*`", re.MULTILINE | re.DOTALL)
    texts = {page: code.sub("", path.read_text()) for page, path in PAGES.items()}
    assert not {page for page, text in texts.items() if re.search(r"\$\S[^$\n]*\$|\\[a-z]+\{", text)}


@pytest.fixture
def site():
    folder = DOCS.parent / "build" / "docs"
    if not folder.exists():
        pytest.skip("build/docs is not there: run nox -s docs")
    return folder


def test_the_built_site_loads_nothing_from_a_network(site):
    loads = re.compile(
        r'<(?:script|img|source|iframe|link(?! rel="canonical"))\b[^>]*\b(?:src|href)="(?:https?:)?//'
    )
    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text())] == []


def test_links_of_the_page_that_is_not_here_hold_at_any_address(site):
    head = (site / "404.html").read_text().partition("</head>")[0]
    base = re.search(r'<base href="(/[\w-]+/)">', head)
    assert base and head.index("<base") < head.index("stylesheet")
    assert f'.github.io{base[1]}index.html"' in (site / "index.html").read_text()
    assert "<base" not in (site / "index.html").read_text()


def test_the_gallery_has_a_picture_of_every_tutorial(site):
    text = (site / "gallery.html").read_text()
    cards = re.findall(r'<p class="card"><a.*?href="([^"]+)">(.*?)</a></p>', text, re.DOTALL)
    shown = {page.removesuffix(".html") + ".md": inside for page, inside in cards}
    assert set(shown) == set(TUTORIALS)
    assert [page for page, inside in shown.items() if "<img " not in inside] == []


def test_a_notebook_is_beside_each_page_that_is_one(site):
    links = re.compile(r'href="([^"]+\.ipynb)" download')
    pages = [page for page in site.rglob("*.html") if links.search(page.read_text())]
    assert len(pages) > 20
    for page in pages:
        for link in links.findall(page.read_text()):
            assert json.loads((page.parent / link).read_text())["cells"]
