"""Execute the pages that have cells, several at a time, before Sphinx reads them one after the other.

They are executed anew at each build, into the cache of MyST-NB, which takes their outputs from there. A page
that takes times is executed alone, after the others, so that its figures are those of an idle machine.
"""

import asyncio
import os
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from nbclient import NotebookClient
from sphinx.util import logging
from sphinx.util.display import status_iterator

_LOG = logging.getLogger(__name__)
CLOCK = "perf_counter"  # in the cells of a page that takes times
KERNELS = 4  # at most: each imports JAX


class Executed(NamedTuple):
    """A notebook with its outputs, and the traceback of the cell that raised, died or took too long."""

    page: str
    notebook: Any
    raised: str


def setup(app: Any) -> dict[str, bool]:
    """Execute pages once it is known which ones are read, unless `nb_execution_mode` is off."""
    app.connect("env-before-read-docs", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Any, env: Any, docnames: Iterable[str]) -> None:
    """Fill the cache, and warn of each page that fails."""
    if app.config.nb_execution_mode != "cache":
        return
    cache = get_cache(app.config.nb_execution_cache_path)
    cache.clear_cache()  # what is in it was made of other sources
    paths = {page: Path(env.doc2path(page)) for page in docnames}
    pages = {
        page: path
        for page, path in paths.items()
        if is_myst_markdown_notebook(path.read_text(encoding="utf-8"))
    }
    done = executed(pages, app.config.nb_execution_timeout)
    shown = status_iterator(done, "executing pages... ", "purple", len(pages), 0, attrgetter("page"))
    for page, notebook, raised in shown:
        bundle = CacheBundleIn(notebook, str(pages[page]), data={})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
        if raised:
            _LOG.warning("a cell fails\n%s", raised, location=page)


def executed(pages: Mapping[str, Path], timeout: int) -> Iterator[Executed]:
    """Execute pages, of a name and a path, and yield each as it is done."""
    notebooks = {
        page: read_myst_markdown_notebook(path.read_text(encoding="utf-8")) for page, path in pages.items()
    }
    timed = {page for page, notebook in notebooks.items() if takes_times(notebook)}
    for together, kernels in ((notebooks.keys() - timed, min(KERNELS, os.cpu_count() or 1)), (timed, 1)):
        with ThreadPoolExecutor(kernels) as pool:  # each thread waits for the process of a kernel
            waiting = [
                pool.submit(run, page, notebooks[page], pages[page].parent, timeout)
                for page in sorted(together)
            ]
            for future in as_completed(waiting):
                yield future.result()


def takes_times(notebook: Any) -> bool:
    """Return whether a cell reads the clock."""
    return any(CLOCK in cell.source for cell in notebook.cells if cell.cell_type == "code")


def run(page: str, notebook: Any, folder: Path, timeout: int) -> Executed:
    """Execute the cells of a notebook in its folder, up to the first that fails."""
    # The cache compares cells by what they have, so no times are added to them.
    options: Any = {
        "timeout": timeout,
        "record_timing": False,
        "resources": {"metadata": {"path": str(folder)}},
    }
    try:
        asyncio.run(NotebookClient(notebook, **options).async_execute())
    except Exception:  # also a kernel that died, which is no error of a cell
        return Executed(page, notebook, traceback.format_exc())
    return Executed(page, notebook, "")
