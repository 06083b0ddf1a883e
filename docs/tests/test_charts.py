"""Charts and figures of pages come from records, and pages name none that is not there."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from drawn_records import CHARTS
from standalone import headlines

from event_ops.discover import operators
from event_ops_harness.headlines import FIGURES, figures, plain, quote, records
from event_ops_harness.report.drawing import LABEL, NARROW, WIDTH, curves, dots, legend
from event_ops_harness.report.rows import groups

DOCS = Path(__file__).parents[1]
MADE = {"operators", "records"}  # folders of pages that are made of records
FOUND = [path for path in DOCS.rglob("*.md") if not MADE & set(path.parts)]
SOURCES = {str(path.relative_to(DOCS)): path.read_text() for path in FOUND}
SVG = "{*}svg"


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_a_mark_for_each_row_of_its_table(name):
    chart = CHARTS[name]()
    assert chart.rows and all(len(row) == len(chart.head) for row in chart.rows)
    if chart.svg:
        marks = drawn(chart.svg).findall(".//g/title")
        assert len(marks) == len(chart.rows) * (len(marks) // len(chart.rows)) > 0
        assert ElementTree.fromstring(legend(chart.names)).findall("li")


def test_the_chart_of_operators_has_them_all():
    text = "".join(drawn(CHARTS["operators"]().svg).itertext())
    assert not [operator.name for operator in operators() if operator.name not in text]


def test_a_mark_lies_right_of_the_line_where_the_rival_took_longer():
    svg = drawn(
        dots({"of both": None, "f": {"a": [0.5], "b": [2.0, 4.0, 3.0]}}, ["a", "b"], "label", ("no", "yes"))
    )
    titles = [title.text for title in svg.iter("title")]
    assert titles == ["f, a: 0.50×", "f, b: 2.0× to 4.0×, median 3.0×"]
    one = float(svg.find(".//line[@class='one']").get("x1"))
    slower, faster = (float(x.get("transform")[10:].split(",")[0]) for x in svg.iter("path"))
    assert slower < one < faster


@pytest.mark.parametrize(("width", "place"), [(WIDTH, "end"), (NARROW, "start")])
def test_a_row_without_marks_stands_where_rows_do_and_not_where_headings_do(width, place):
    rows = {"of all": None, "f": {"a": [2.0]}, "g": {}}
    svg = drawn(dots(rows, ["a"], "label", ("no", "yes"), width))
    head, f, g = (text for text in svg.iter("text") if text.text in rows)
    assert (f.get("text-anchor"), f.get("x")) == (g.get("text-anchor"), g.get("x"))
    assert (head.get("class"), g.get("class"), g.get("text-anchor")) == ("head", "name", place)


def test_the_picture_of_the_readme_is_that_of_the_records():
    assert (DOCS / "headlines.svg").read_text() == headlines(), "nox -s table writes it"


def test_labels_of_an_axis_do_not_overlap():
    for name in ("limit", "operators", "brainevent"):
        for form, least in (("wide", 3), ("narrow", 2)):
            svg = drawn(CHARTS[name]().svg).find(f"div[@class='{form}']")
            ticks = [float(x.get("x1")) for x in svg.findall(".//line[@class='tick']")]
            assert len(ticks) >= least and all(b - a >= LABEL for a, b in pairwise(ticks)), name


def test_on_a_phone_names_stand_above_the_marks():
    svg = drawn(
        dots({"a name as long as the line of marks is": {"a": [2.0]}}, ["a"], "label", ("no", "yes"), NARROW)
    )
    (name,) = svg.findall(".//text[@class='name']")
    mark = svg.find(".//g/path").get("transform")
    assert float(name.get("x")) < 10 and float(name.get("y")) < float(mark.split(",")[1][:-1])


def test_a_curve_rises_where_values_do():
    svg = drawn(curves({"a": {1.0: 1.0, 10.0: 5.0}}, "label", ("x", "y"), "{:g}".format))
    (first, last) = (point.split(",") for point in svg.find(".//polyline").get("points").split())
    assert float(first[0]) < float(last[0]) and float(first[1]) > float(last[1])


def test_every_figure_has_a_value():
    assert set(figures()) == set(FIGURES) and all(re.search(r"\d", text) for text in figures().values())


@pytest.mark.parametrize("page", [page for page, text in SOURCES.items() if "{measured}`" in text])
def test_pages_quote_figures_that_there_are(page):
    for name in re.findall(r"\{measured\}`([^`]+)`", SOURCES[page]):
        assert re.search(r"\d", quote(name)), name


def test_a_figure_of_a_record_is_over_ours_or_over_another_member():
    group = "4,000 neurons"
    ours, two, four = (t.us for t in groups(records().files["devices"])[0].timings[:3])
    assert quote(f"devices: {group}: 4 devices") == plain(four / ours)
    assert quote(f"devices: {group}: 4 devices / 2 devices") == plain(four / two)


def test_a_figure_of_a_gpu_may_be_how_many_tests_passed():
    assert f"{quote('gpu: operators: passed')} passed" in records().files["gpu"]["steps"]["operators"]["tail"]


@pytest.mark.parametrize("page", SOURCES)
def test_no_page_has_a_factor_that_was_typed(page):
    prose = re.sub(r"^```.*?^```", "", SOURCES[page], flags=re.MULTILINE | re.DOTALL)
    typed = re.findall(r"[^.|\n]*\b\d[\d.,]* (?:x|times) (?:as|the time|real time|longer)\b", prose)
    assert not typed, "quote it from a record, by the role `measured`"


@pytest.mark.parametrize("page", [page for page, text in SOURCES.items() if "```{chart}" in text])
def test_pages_show_charts_that_there_are(page):
    assert set(re.findall(r"^```\{chart\} (.*)$", SOURCES[page], re.MULTILINE)) <= set(CHARTS)
