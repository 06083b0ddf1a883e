"""Guard the inner names of libraries, which may change with any release; replace their functions."""

import contextlib
import re
import threading
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Final

from ffi_bridge.errors import UntestedVersionWarning


@contextmanager
def private_api(package: str, installed: str, tested: tuple[int, int]) -> Generator[None]:
    """Guard the block that imports and looks up inner names of `package`, once per process.

    Warns UntestedVersionWarning where the version `installed` is newer than `tested`, the last one with which
    the tests passed. Raises ImportError where the block finds that a name is missing.
    """
    newest = ".".join(map(str, tested))
    if tuple(map(int, re.findall(r"\d+", installed)[: len(tested)])) > tested:
        warnings.warn(
            f"{package} {installed} is installed, and ffi_bridge was tested with {newest} at most: inner "
            f"names that it uses may have changed; look for a newer ffi-bridge, install {package} {newest}, "
            "or, if your own tests pass, silence this before the first kernel is made: "
            'warnings.simplefilter("ignore", ffi_bridge.errors.UntestedVersionWarning)',
            UntestedVersionWarning,
            stacklevel=3,  # past contextlib
        )
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"{package} {installed} does not have what ffi_bridge needs of it: {error}; install the newest "
            f"release of ffi-bridge, or {package} {newest}"
        ) from error


def look_up(owner: object, *names: str) -> None:
    """Raise AttributeError unless `owner` has all of these attributes."""
    for name in names:
        getattr(owner, name)


@contextlib.contextmanager
def replaced(owner: Any, **values: Any) -> Generator[None]:
    """Within the block, give attributes of a module, class or object these values, for all threads."""
    before = {name: getattr(owner, name) for name in values}
    try:
        for name, value in values.items():
            setattr(owner, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(owner, name, value)


# An owner, the name of a function in it, and the function that is called in its place.
Replacement = tuple[Any, str, Callable[..., Any]]

# One thread at a time: a second one would save our function as the original, and restore that.
_redirecting: Final = threading.RLock()


@contextlib.contextmanager
def in_this_thread(replacements: Iterable[Replacement]) -> Generator[None]:
    """Replace functions within the block, for the thread that runs it alone."""
    thread = threading.get_ident()

    def in_place(owner: Any, name: str, ours: Callable[..., Any]) -> Callable[[], None]:
        theirs = getattr(owner, name)

        def either(*args: Any, **kwargs: Any) -> Any:
            return (ours if threading.get_ident() == thread else theirs)(*args, **kwargs)

        # All threads see the replacement, which asks who calls.
        setattr(owner, name, either)
        return lambda: setattr(owner, name, theirs)

    with _redirecting:
        undo = [in_place(*replacement) for replacement in replacements]
        try:
            yield
        finally:
            for restore in undo:
                restore()
