"""Replace functions of other libraries while one thread runs a block."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final

# An owner, the name of a function in it, and the function that is called in its place.
Replacement = tuple[Any, str, Callable[..., Any]]

# One thread at a time: a second one would save our function as the original, and restore that.
_redirecting: Final = threading.RLock()


@contextlib.contextmanager
def in_this_thread(replacements: Iterable[Replacement]) -> Generator[None]:
    """Replace functions within the block, for the thread that runs it; other threads call the originals."""
    thread = threading.get_ident()

    def in_place(owner: Any, name: str, ours: Callable[..., Any]) -> Callable[[], None]:
        theirs = getattr(owner, name)

        def either(*args: Any, **kwargs: Any) -> Any:
            return (ours if threading.get_ident() == thread else theirs)(*args, **kwargs)

        setattr(owner, name, either)
        return lambda: setattr(owner, name, theirs)

    with _redirecting:
        undo = [in_place(*replacement) for replacement in replacements]
        try:
            yield
        finally:
            for restore in undo:
                restore()
