"""Guard the inner names of another library, which may change with any of its releases."""

from __future__ import annotations

import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager

from ffi_bridge.errors import UntestedVersionWarning


@contextmanager
def inner_names(package: str, installed: str, tested: tuple[int, int]) -> Generator[None]:
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
