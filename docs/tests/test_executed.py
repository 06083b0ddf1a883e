"""Pages are executed before Sphinx reads them: several at a time, or alone where a cell takes times."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("myst_nb", reason="the group docs is not installed")

import executed
import nbclient
from jupyter_cache import get_cache
from myst_nb.core.read import read_myst_markdown_notebook

HEAD = "---\njupytext:\n  text_representation:\n    format_name: myst\nkernelspec:\n  name: python3\n---\n\n"
CELLS = {
    "right": "print(6 * 7)",
    "wrong": "print('before')\n```\n\n```{code-cell}\nraise ValueError('not like this')",
    "late": "import time\nbegan = time.perf_counter()\nwhile time.perf_counter() < began + 60: pass",
}
TEXTS = {name: f"{HEAD}# Title\n\n```{{code-cell}}\n{source}\n```\n" for name, source in CELLS.items()}


def cells_of(text):
    return read_myst_markdown_notebook(text).cells


def test_a_cell_takes_times_if_it_reads_the_clock_and_prose_does_not():
    timed = {name for name, text in TEXTS.items() if any(map(executed.takes_times, cells_of(text)))}
    assert timed == {"late"}
    in_prose = f"{HEAD}`perf_counter` is a clock.\n\n```{{code-cell}}\nprint(1)\n```\n"
    assert not any(map(executed.takes_times, cells_of(in_prose)))


def test_pages_that_begin_early_have_cells():
    for page in executed.LONG:
        text = (Path(executed.__file__).parents[1] / f"{page}.md").read_text(encoding="utf-8")
        assert any(cell.cell_type == "code" for cell in cells_of(text))


def test_a_cell_that_takes_times_and_those_below_it_are_executed_alone(monkeypatch):
    running, most = [], {}

    async def execute(client, cell):
        running.append(client)
        await asyncio.sleep(0.02)
        most[cell.source] = max(most.get(cell.source, 0), len(running))
        running.remove(client)

    monkeypatch.setattr(nbclient.NotebookClient, "async_execute_cell", execute)
    turns = executed.Turns(3)

    async def page(sources):
        notebook = read_myst_markdown_notebook(HEAD)
        client = executed.Client(notebook, turns)
        for source in sources:
            await client.async_execute_cell(SimpleNamespace(cell_type="code", source=source))

    pages = [["first", "time.perf_counter()", "below"], *([f"other {i}"] * 30 for i in range(3))]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda sources: asyncio.run(page(sources)), pages))
    assert most["time.perf_counter()"] == most["below"] == 1
    assert max(most.values()) > 1


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
