"""The page shows what the JSON says: every element, every link, nothing from elsewhere."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from report_results import ATTACK, MATRIX, Elements, benchmark, rendered, row, text_of, write, write_all

from event_ops_harness.report.inputs import COMMANDS, read
from event_ops_harness.report.markdown import markdown
from event_ops_harness.report.page import page


@pytest.fixture
def full(tmp_path: Path) -> Path:
    return write_all(tmp_path)


def test_every_benchmark_has_a_section_with_its_charts_and_rows(full: Path):
    elements = rendered(full)
    names = {*COMMANDS, "novel"} - {"matrix"}
    assert {str(a["id"]) for a in elements.having("section")} == {*names, "conformance", "sources"}
    labels = [str(a["aria-label"]) for a in elements.having("svg", role="img")]
    for label in (
        "The fastest rival's time",
        "Share of the memory",
        "loop: times as long as XLA",
        "f by rows: time",
    ):
        assert any(label in x for x in labels), label
    for label in (
        "Efficiency of several threads",
        "kept: bytes per synapse",
        "4,000 neurons",
        "f 1k: times as long",
    ):
        assert any(label in x for x in labels), label
    shown = text_of(elements)
    for words in ("exponent 1.00 ± 0.02", "op1 is slow", "Not measured: NEST: not installed", "MKL: gone"):
        assert words in shown, words
    for words in (
        "anything",
        "42",
        "2 threads 62%",
        "A GPU",
        "no compute-sanitizer",
        "serial: g",
        "jax 0.11",
    ):
        assert words in shown, words


def test_headlines_count_and_compare(full: Path):
    figures = re.findall(r"<strong>(.*?)</strong>", page(read(full), "", ""))
    # 13 operators, of which one has a rival that takes half as long; Brian2 over ours; our fastest call.
    assert figures == ["3", "12 of 13", "500 ns", "4.0×"]


def test_environment_has_versions_devices_dates_and_commits(full: Path):
    shown = text_of(rendered(full))
    for words in ("A processor", "Linux x86_64", "0.12.0", "2026-01-02", "abc1234", "2026-01-03", "fedcba9"):
        assert words in shown, words
    assert "GPU none measured" in text_of(rendered(write(full, gpu={"steps": {}})))


def test_heat_map_shows_the_worst_status_and_links_to_its_reasons(full: Path):
    source = page(read(full), "", "")
    elements = Elements(source)
    squares = dict(re.findall(r'<td class="(\w+)"><a href="#([^"]+)"', source))
    assert {status: squares[status] for status in ("part", "fail", "skip", "pass")} == {
        "part": "f-numba_cpu-jit",
        "fail": "f-numba_cpu-vmap",
        "skip": "f-warp-jit",
        "pass": "g-h-numba_cpu-jit",
    }
    titles = [str(a["title"]) for a in elements.having("a") if "title" in a]
    assert "f, numba_cpu, vmap: 1 failed, 1 passed" in titles
    shown = text_of(elements)
    assert "f-numba_cpu-empty-float32-vmap (3.12-linux)" in shown and "1 skipped no Warp" in shown
    # Colour is not all that tells them apart.
    assert {sign for _, sign in re.findall(r'<td class="(\w+)"><a [^>]*>(.)</a>', source)} == set("◐✕–✓")


def test_every_link_resolves_and_every_id_is_unique(full: Path):
    elements = rendered(full)
    assert len(elements.ids) == len(set(elements.ids))
    assert all(link.startswith("#") for link in elements.links)
    assert {link[1:] for link in elements.links} <= set(elements.ids)
    assert len(elements.links) > 10


def test_page_loads_nothing_and_runs_nothing(full: Path):
    elements = rendered(full)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in elements.tags}
    source = page(read(full), "", "")
    assert not re.search(r"https?://|url\(|@import|\bon\w+=", source)


def test_text_of_the_json_is_escaped(tmp_path: Path):
    bad = benchmark(row(ATTACK, ATTACK, 1, 1.0), row(ATTACK, "b", 2, 2.0), verdicts=[ATTACK])
    folder = write(tmp_path, matrix=MATRIX, call=bad, novel=benchmark({ATTACK: ATTACK}))
    source = page(read(folder), "", "")
    assert "<script" not in source
    assert text_of(Elements(source)).count(ATTACK) >= 6
    assert "<script" not in markdown(read(folder))


def test_tables_have_heads_and_charts_have_names(full: Path):
    elements = rendered(full)
    heads = [attrs.get("scope") for tag, attrs in elements.tags if tag == "th"]
    assert heads and set(heads) == {"col", "row"}
    assert all(a.get("aria-label") for a in elements.having("svg", role="img"))
    assert all(
        a.get("aria-label") and a.get("tabindex") == "0" for a in elements.having("div", role="region")
    )
    levels = [int(tag[1]) for tag, _ in elements.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and all(b <= a + 1 for a, b in pairwise(levels))
