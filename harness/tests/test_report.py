"""The page shows what the JSON says: every element, every link, nothing from elsewhere."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from report_results import (
    ATTACK,
    MATRIX,
    Elements,
    benchmark,
    entry,
    ours,
    rendered,
    text_of,
    write,
    write_all,
)

from event_ops_harness.report.benchmarks import COMMANDS
from event_ops_harness.report.inputs import read
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
        "The fastest rival, by operator",
        "Share of the memory",
        "loop: times as long as numba_kernel",
        "f by rows: time",
    ):
        assert any(label in x for x in labels), label
    for label in (
        "Efficiency of several threads",
        "kept: bytes per synapse, beside those of",
        "4,000 neurons",
        "400,000 neurons",
        "scale 0.1: times as long as event-ops",
        "f 1k: times as long as ours",
    ):
        assert any(label in x for x in labels), label
    shown = text_of(elements)
    for words in (
        *("exponent 1.00 ± 0.02", "4,242", "A GPU", "no compute-sanitizer", "jax 0.11"),
        *("real time factor", "0.17", "251, 297", "10 from 0.25 to 9", "seeds: 10", "means: L4E rate 4.5"),
        *("counted without a GPU", "Nothing was timed", "ESTIMATE H100, µs", "estimates: by a roofline"),
        "op1 4k warp 2 1.25 88%",
    ):
        assert words in shown, words


def test_rivals_versions_are_told_unless_the_machine_has_them(full: Path):
    notes = re.findall("<li>(.*?)</li>", page(read(full), "", ""))
    assert "SciPy: scipy 1.16" in notes and "Brian2: brian2 2.10" in notes


def test_a_ratio_has_its_interval_where_the_file_has_one(full: Path):
    source = page(read(full), "", "")
    # Ours over the rival is 2 (1.8 to 2.5): the rival over ours, with its interval in tables alone.
    assert "<td>0.50× (0.40 to 0.56) SciPy</td>" in source
    assert ">SciPy: 500 ns, 0.50×</text>" in source
    assert ">warp: 250 ns, 0.25×</text>" in source
    assert ">XLA: 100 ns, 0.20×</text>" in source


def test_gradients_have_a_table_and_are_not_beside_rivals(full: Path):
    source = page(read(full), "", "")
    assert source.count("gradient of") == 0
    gradients = text_of(Elements(source)).partition("Gradients")[2]
    assert gradients.startswith(
        " 1 rows what value, µs value and grad, µs times as long op1 4k 2 6 3.0× (2.5 to 3.5)"
    )


def test_headlines_count_and_compare(full: Path):
    figures = re.findall(r"<strong>(.*?)</strong>", page(read(full), "", ""))
    # 13 operators, of which one has a rival that takes half as long; our fastest call; Brian2 over ours.
    assert figures == ["3", "12 of 13", "500 ns", "4.0×"]


def test_environment_has_versions_devices_dates_and_commits(full: Path):
    shown = text_of(rendered(full))
    for words in (
        *("A processor", "Linux x86_64", "0.12.0", "2026-01-02", "abc1234", "2026-01-03", "fedcba9"),
        *("2026-01-04 0123456, with changes",),
    ):
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
    bad = benchmark(
        ours(ATTACK, ATTACK, 1, **{ATTACK: ATTACK}), entry(ATTACK, "b", 2, versions={"b": ATTACK})
    )
    folder = write(tmp_path, matrix=MATRIX, call=bad, microcircuit_statistics={"rows": [], ATTACK: ATTACK})
    source = page(read(folder), "", "")
    assert "<script" not in source
    assert text_of(Elements(source)).count(ATTACK) >= 6


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
