"""Execute the pages that have cells, several at a time, before Sphinx reads them one after the other.

They are executed anew at each build, into the cache of MyST-NB, which takes their outputs from there. A cell
that takes times is executed while no other is, so that its figures are those of an idle machine; so are those
below it, which may call what it defines.
"""

import asyncio
import os
import threading
import traceback
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, asynccontextmanager
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
CLOCK = "perf_counter"  # in a cell that takes times
KERNELS = 4  # at most: each imports JAX
# Pages of half a minute and more, most of which is compiling.
LONG = (
    "gallery",
    "how-to/test-cuda-kernels-without-a-gpu",
    "tutorials/exact-gradients",
    "tutorials/training-words",
)


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
    kernels = min(KERNELS, os.cpu_count() or 1)
    turns = Turns(kernels)
    # Those that take times first, together: a cell that others wait for is a short one then. Long ones next:
    # one that begins last would end alone.
    order = sorted(notebooks, key=lambda x: (not any(map(takes_times, notebooks[x].cells)), x not in LONG, x))
    with ThreadPoolExecutor(kernels) as pool:  # each thread waits for the process of a kernel
        waiting = [
            pool.submit(run, page, notebooks[page], pages[page].parent, timeout, turns) for page in order
        ]
        for future in as_completed(waiting):
            yield future.result()


class Turns:
    """As many cells at a time as there are places, or one that takes them all."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._free = threading.Semaphore(places)
        self._next = threading.Lock()  # whoever waits for all places lets nobody pass

    def wait(self, places: int) -> ExitStack:
        """Return once this number of places is taken; leaving the stack gives them back."""
        taken = ExitStack()
        with self._next:
            for _ in range(places):
                taken.enter_context(self._free)
        return taken


class Client(NotebookClient):
    """Starts a kernel and executes each cell when it is its turn."""

    def __init__(self, notebook: Any, turns: Turns, **options: Any) -> None:
        super().__init__(notebook, **options)
        self.turns, self.places = turns, 1

    @asynccontextmanager
    async def async_setup_kernel(self, **options: Any) -> AsyncIterator[None]:
        """Start the kernel: the loop that waits for its turn is that of this notebook alone."""
        with self.turns.wait(1) as starting:
            async with super().async_setup_kernel(**options):
                starting.close()
                yield

    async def async_execute_cell(self, cell: Any, *args: Any, **options: Any) -> Any:
        """Execute a cell: alone, from the first that takes times on."""
        if takes_times(cell):
            self.places = self.turns.places
        with self.turns.wait(self.places):
            return await super().async_execute_cell(cell, *args, **options)


def takes_times(cell: Any) -> bool:
    """Return whether a cell reads the clock."""
    return cell.cell_type == "code" and CLOCK in cell.source


def run(page: str, notebook: Any, folder: Path, timeout: int, turns: Turns) -> Executed:
    """Execute the cells of a notebook in its folder, up to the first that fails."""
    # The cache compares cells by what they have, so no times are added to them.
    options: Any = {
        "timeout": timeout,
        "record_timing": False,
        "resources": {"metadata": {"path": str(folder)}},
    }
    try:
        asyncio.run(Client(notebook, turns, **options).async_execute())
    except Exception:  # also a kernel that died, which is no error of a cell
        return Executed(page, notebook, traceback.format_exc())
    return Executed(page, notebook, "")
