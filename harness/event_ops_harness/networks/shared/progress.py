"""The bar that shows how far a program is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bar(what: str, total: int, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """Gives the function that is told how much of `total` is done."""
    columns = TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
