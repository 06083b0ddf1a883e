"""Make an object file of a compiled Numba kernel with its handler, and load it: to run and to keep.

An object file refers by name to what lies outside: C functions, Numba's runtime, an exception slot. For what
Numba takes by address, such as a function from ctypes, there is a variable, which gets the address that the
function has in the process that loads it. A kernel that refers to something without a name runs in this
process, and stays out of the cache: static functions, large arrays, Python objects in its exceptions.
"""

import ctypes
import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm

from ffi_bridge import kernel_cache
from ffi_bridge.errors import CopiedInputWarning
from ffi_bridge.handler.interruption import watch_signals
from ffi_bridge.identity.c_functions import CFunction, named_at
from ffi_bridge.identity.fingerprint import fingerprint, overloads_of_others
from ffi_bridge.kernel_cache import Entry
from ffi_bridge.numba_cpu.exception import ExceptionSlot
from ffi_bridge.numba_cpu.internals import (
    ADDRESS,
    ENVIRONMENT,
    CompileResult,
    Environment,
    address_in,
    config,
    finished_module,
    lookup_environment,
    object_of,
    runtime_functions,
    target_context,
)
from ffi_bridge.numba_cpu.layout import Threading
from ffi_bridge.numba_cpu.parallel_region import start_threads

_INTRINSIC: Final = "llvm."
_FACTS: Final = {
    "symbols": list,
    "addresses": dict,
    "environments": list,
    "slot": (str, type(None)),
    "handler": str,
    "warning": (str, type(None)),
    "unwritten": list,
}


@dataclass(frozen=True)
class Loaded:
    """The owners of a loaded kernel's machine code, and of everything that it refers to.

    `unwritten`: names of the outputs that the code never stores to.
    """

    engine: object
    slot: ExceptionSlot | None
    environments: tuple[Environment, ...]
    unwritten: Sequence[str]
    function: object = None


def find(name: str) -> tuple[int, Loaded] | None:
    """Return the address of the handler `name` in the kernel cache, and its owner."""
    key = key_of(name)
    entry = None if key is None else kernel_cache.load(key, **_FACTS)
    try:
        return None if entry is None else unpack(entry)
    except (AttributeError, TypeError, ValueError):  # facts that nobody here wrote
        return None


def keep(name: str, entry: Entry) -> None:
    """Store a kernel with its handler `name`, which stands for contents alone, in the kernel cache."""
    if (key := key_of(name)) is not None:
        kernel_cache.store(key, entry)


def key_of(name: str) -> str | None:
    """Return the key of a target in the kernel cache; None where its name is not enough for one."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    machine = target_context().codegen().magic_tuple()
    # numba-cuda adds settings of its own, once it is loaded.
    settings = {n: v for n, v in kernel_cache.settings_of(config).items() if "CUDA" not in n}
    overloads = overloads_of_others()
    around = (kernel_cache.own_sources(), versions, machine, settings, overloads.digest)
    hashed = fingerprint(name, around)
    return hashed.digest if hashed.portable and overloads.portable else None


def is_portable(compiled: CompileResult, entry: Entry) -> bool:
    """Return whether another process can run the library's code: all addresses in it are known, and named."""
    library: Any = compiled.library
    addresses = entry.facts["addresses"]
    # Numba says whether it took addresses at all: each must be among the named ones.
    named = bool(addresses) == library.has_dynamic_globals and None not in addresses.values()
    return named and not any(map(_constants_of, entry.facts["environments"]))


def pack(
    compiled: CompileResult,
    handler: str,
    threading: Threading | None,
    warning: str | None,
    unwritten: Sequence[str],
) -> Entry:
    """Return the object file of a finished library with the symbol `handler`, and the names it refers to.

    `warning`: a text for each process that uses the kernel; `unwritten`: as of `Loaded`.
    """
    module = finished_module(compiled)
    variables = [x for x in module.global_variables if not x.is_declaration]
    environments = [x.name for x in variables if x.name.startswith(ENVIRONMENT)]
    outside = [x.name for x in (*module.functions, *module.global_variables) if x.is_declaration]
    facts = {
        # LLVM's intrinsics are declared, and are no symbols.
        "symbols": [name for name in outside if not name.startswith(_INTRINSIC)],
        "addresses": {x.name: named_at(address_in(x.name)) for x in variables if x.name.startswith(ADDRESS)},
        "environments": environments,
        "slot": None if threading is None else threading.slot,
        "handler": handler,
        "warning": warning,
        "unwritten": unwritten,
    }
    return Entry(facts, object_of(compiled))


def unpack(entry: Entry) -> tuple[int, Loaded] | None:
    """Load an object file; return the address of its handler, or None where a name is missing."""
    facts = entry.facts
    slot = None
    if facts["slot"] is not None:
        start_threads()
        slot = ExceptionSlot(facts["slot"])
    watch_signals()
    addresses = _addresses(facts["addresses"])
    if addresses is None or not _has(facts["symbols"]):
        return None
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    # As Numba has it: on aarch64 the pieces of code must lie within reach of each other.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, config.USE_LLVMLITE_MEMORY_MANAGER)
    engine.add_object_file(llvm.ObjectFileRef.from_data(entry.code))
    engine.finalize_object()
    for variable, address in addresses.items():
        _set_pointer(engine, variable, address)
    environments = tuple(_provide(engine, environment) for environment in facts["environments"])
    address = engine.get_function_address(facts["handler"])
    if not address:
        return None
    if facts["warning"] is not None:
        warnings.warn(facts["warning"], CopiedInputWarning, stacklevel=2)
    return address, Loaded(engine, slot, environments, facts["unwritten"])


def _has(symbols: Iterable[str]) -> bool:
    """Return whether LLVM would find every symbol; one that it does not find would end the process."""
    _name_runtime()
    return all(llvm.address_of_symbol(symbol) for symbol in symbols)


@functools.cache
def _name_runtime() -> None:
    """Give LLVM the names of Numba's runtime, as Numba does before it compiles something."""
    target_context()  # names the functions of Python and C
    for name, address in runtime_functions().items():
        llvm.add_symbol(name, address)


def _addresses(named: Mapping[str, Sequence[str] | None]) -> dict[str, int] | None:
    """Return the addresses that named variables must hold here; None if a C function is not here."""
    addresses = {variable: CFunction(*name).address() for variable, name in named.items() if name is not None}
    present = {variable: address for variable, address in addresses.items() if address is not None}
    return present if len(present) == len(addresses) else None


def _set_pointer(engine: Any, variable: str, address: int) -> None:
    if place := engine.get_global_value_address(variable):  # none, where nothing refers to it
        ctypes.c_void_p.from_address(place).value = address


def _constants_of(environment: str) -> list[object]:
    loaded = lookup_environment(environment)
    return [] if loaded is None else loaded.consts


def _provide(engine: Any, name: str) -> Environment:
    """Give machine code the environment that it looks at before it raises; empty if of another process."""
    environment = lookup_environment(name) or Environment({})
    _set_pointer(engine, name, id(environment))
    return environment
