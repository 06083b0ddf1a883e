"""C functions by library and symbol: names that hold in every process, as an address does not.

A function that was named keeps its library open: XLA's programs may call it as long as the process lives.
"""

import ctypes
import functools
import hashlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple


class CFunction(NamedTuple):
    """A C function that `library` exports as `symbol`, or that a Cython module lists with its `signature`.

    `digest`: a hash of the library's file, so that a library that was built anew is another one. Without a
    library: part of a callback that each process compiles itself, and a hash of what it is compiled from.
    """

    library: str
    digest: str
    symbol: str
    module: str = ""
    signature: str = ""

    def address(self) -> int | None:
        """Return where the function is in this process; None where its library is gone, or another one.

        Opens the library, or imports the module, unless that was done before.
        """
        if not self.library:
            return _callbacks.get(self)
        try:
            if _digest_of(self.library) != self.digest:
                return None
            if self.module:
                return _listed_by(importlib.import_module(self.module)).get((self.symbol, self.signature))
            return ctypes.cast(_opened(self.library, self.digest)[self.symbol], ctypes.c_void_p).value
        except (OSError, AttributeError, ImportError):
            return None


# Address -> the name under which it was last found.
_names: Final[dict[int, CFunction]] = {}
# The callbacks of this process.
_callbacks: Final[dict[CFunction, int]] = {}


def name_of(address: int, called: str | None) -> CFunction | None:
    """Return the name of the C function at `address`; None where another process could not find it.

    `called`: what the program calls it. By its name the linker does not find the variant of a function that
    was chosen for this processor. Static functions and machine code made at run time have no name.
    """
    name = next((x for x in _candidates(address, called) if x.address() == address), None)
    if name is not None:
        _names[address] = name
    return name


def name_callback(digest: str, addresses: Mapping[str, int]) -> bool:
    """Name the parts of a callback, which are never freed; return False if another one has these names.

    Callbacks are compiled when they are made, so that two of equal contents may differ in values of globals.
    `digest`: a hash of what it is compiled from; `addresses`: of its parts, by name.
    """
    names = {CFunction("", digest, part): address for part, address in addresses.items()}
    if any(_callbacks.setdefault(name, address) != address for name, address in names.items()):
        return False
    _names.update((address, name) for name, address in names.items())
    return True


def named_at(address: int) -> CFunction | None:
    """Return the function, or part of a callback, that was last named at `address`."""
    return _names.get(address)


def _candidates(address: int, called: str | None) -> Iterator[CFunction]:
    place = _Place()
    if _dladdr is None or not _dladdr(address, ctypes.byref(place)):
        return
    library = os.path.abspath(place.library.decode(errors="replace"))
    try:
        digest = _digest_of(library)
    except OSError:
        return
    for symbol in (called, place.symbol and place.symbol.decode()):
        if symbol:
            yield CFunction(library, digest, symbol)
    # Cython lists functions that a module does not export as symbols.
    for name, module in _modules_in(library):
        for (symbol, signature), at in _listed_by(module).items():
            if at == address:
                yield CFunction(library, digest, symbol, name, signature)


class _Place(ctypes.Structure):
    """`Dl_info` of dlfcn.h: the file that is mapped at an address, and the nearest symbol below it."""

    _fields_ = (
        ("library", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
    )


_dladdr: Final[Any] = getattr(ctypes.pythonapi, "dladdr", None)  # not on Windows
if _dladdr is not None:
    # By default ctypes passes a number as a C int, which cuts an address.
    _dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

# The name of a capsule, None where it has none, and its pointer, for that name.
capsule_name: Final = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
capsule_pointer: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _modules_in(library: str) -> list[tuple[str, Any]]:
    """Return the imported modules of a file; to look at modules under further names might import them."""
    stem = Path(library).name.partition(".")[0]
    # A list, since another thread may import meanwhile.
    named = [(name, module) for name, module in list(sys.modules.items()) if name.rpartition(".")[2] == stem]
    return [(name, module) for name, module in named if getattr(module, "__file__", None) == library]


@functools.cache
def _listed_by(module: Any) -> dict[tuple[str, str], int]:
    """Return the functions that a Cython module exports: symbol and signature -> address."""
    table: dict[str, Any] = getattr(module, "__pyx_capi__", {})
    named = [(symbol, capsule, capsule_name(capsule)) for symbol, capsule in table.items()]
    return {(symbol, name.decode()): capsule_pointer(capsule, name) for symbol, capsule, name in named}


@functools.lru_cache(256)
# The digest is a key of the cache: a library that was built anew is opened anew.
def _opened(library: str, _digest: str) -> ctypes.CDLL:
    return ctypes.CDLL(library)


def _digest_of(library: str) -> str:
    status = Path(library).stat()
    return _hash(library, status.st_ino, status.st_size, status.st_mtime_ns)


@functools.lru_cache(256)
# The numbers after the path are keys of the cache: a file that has changed is read again.
def _hash(library: str, *_: int) -> str:
    with Path(library).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # in hardware: faster than blake2b
