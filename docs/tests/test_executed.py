"""Pages are executed before Sphinx reads them: several at a time, or alone where a page takes times."""

from types import SimpleNamespace

import pytest

pytest.importorskip("myst_nb", reason="the group docs is not installed")

import executed
from jupyter_cache import get_cache
from myst_nb.core.read import read_myst_markdown_notebook

HEAD = "---\njupytext:\n  text_representation:\n    format_name: myst\nkernelspec:\n  name: python3\n---\n\n"
CELLS = {
    "right": "print(6 * 7)",
    "wrong": "print('before')\n```\n\n```{code-cell}\nraise ValueError('not like this')",
    "late": "import time\nbegan = time.perf_counter()\nwhile time.perf_counter() < began + 60: pass",
}
TEXTS = {name: f"{HEAD}# Title\n\n```{{code-cell}}\n{source}\n```\n" for name, source in CELLS.items()}


def test_a_page_takes_times_if_a_cell_of_it_reads_the_clock():
    timed = {name for name, text in TEXTS.items() if executed.takes_times(read_myst_markdown_notebook(text))}
    assert timed == {"late"}
    in_prose = f"{HEAD}`perf_counter` is a clock.\n\n```{{code-cell}}\nprint(1)\n```\n"
    assert not executed.takes_times(read_myst_markdown_notebook(in_prose))


@pytest.mark.slow
def test_outputs_are_in_the_cache_and_each_page_that_fails_is_a_warning(tmp_path, monkeypatch):
    for name, text in TEXTS.items() | {"prose": "# No cells\n"}.items():
        (tmp_path / f"{name}.md").write_text(text)
    env = SimpleNamespace(doc2path=lambda page: tmp_path / f"{page}.md")
    folder = tmp_path / "cache"
    app = SimpleNamespace(
        config=SimpleNamespace(
            nb_execution_mode="cache", nb_execution_cache_path=folder, nb_execution_timeout=5
        )
    )
    said = []
    monkeypatch.setattr(
        executed._LOG, "warning", lambda text, raised, location: said.append((location, raised))
    )
    executed.fill(app, env, [*TEXTS, "prose"])
    failed = dict(said)
    assert failed.keys() == {"wrong", "late"}
    assert "not like this" in failed["wrong"] and "CellTimeoutError" in failed["late"]
    _, notebook = get_cache(folder).merge_match_into_notebook(read_myst_markdown_notebook(TEXTS["right"]))
    assert notebook.cells[-1].outputs[0].text == "42\n"
