"""The paper's numbers come from the records, its citations from its bibliography."""

import importlib.util
import re
from pathlib import Path

PAPER = Path(__file__).parents[2] / "docs" / "paper"
spec = importlib.util.spec_from_file_location("figures", PAPER / "figures.py")
figures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(figures)


def test_the_table_is_what_the_records_say():
    text = (PAPER / "paper.md").read_text()
    expected = figures.with_table(text, figures.networks())
    assert text == expected, "run `nox -s table`, which makes table and figure anew"


def test_everything_cited_is_in_the_bibliography_and_nothing_else():
    text = (PAPER / "paper.md").read_text()
    entries = re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text(), flags=re.MULTILINE)
    assert entries == sorted(entries, key=str.lower)
    assert set(re.findall(r"\[@(\w+)\]", text)) == set(entries)


def test_an_article_has_a_doi():
    for entry in (PAPER / "paper.bib").read_text().split("\n@")[1:]:
        assert "doi = {10." in entry or entry.startswith("software"), entry.partition(",")[0]
