"""A hash of everything in a Python kernel that can change its machine code.

That is bytecode, closure cells, globals, attributes of modules, the functions that it calls, and compile
options. Kernels with equal fingerprints are interchangeable. A fingerprint is computed before anything is
compiled, and is the same in every process unless the kernel refers to an object by its address. A C function
that its library exports is known by name.
"""

import enum
import functools
import hashlib
import struct
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from ffi_bridge.identity import classes, internals
from ffi_bridge.identity.c_functions import name_callback, name_of
from ffi_bridge.identity.references import names_in, references

_COMPILERS: Final = {"numba", "numba_cuda", "numba_cuda_mlir"}
_ADDRESS: Final = " at 0x"  # in the text of an object without a name
_BY_TEXT: Final = {bool, int, str, type(None), type(...)}  # whose text has all of their contents
_BY_NAME: Final = {types.FunctionType, types.ModuleType, type}

# Numba copies smaller arrays into machine code; larger ones, and those with gaps, it reads in place.
_COPIED_BYTES: Final = 10**6

# Objects without contents are told apart by identity, which holds only while they live.
_kept_alive: Final[dict[int, object]] = {}


@dataclass(frozen=True)
class Fingerprint:
    """A hash of 32 hexadecimal digits; `portable`: it is the same in every process."""

    digest: str
    portable: bool


def fingerprint(*values: object, instances: bool = False) -> Fingerprint:
    """Return the fingerprint of the contents of `values`; `instances`: as `Walk` has it."""
    walk = Walk(instances=instances)
    walk.add(values)
    return Fingerprint(digest_of(walk.tokens), walk.portable)


def digest_of(tokens: Iterable[str | bytes]) -> str:
    """Return the hash of contents."""
    # Without an end of each token "ab", "c" would be as "a", "bc".
    ended = b"\0".join([*(x.encode() if isinstance(x, str) else x for x in tokens), b""])
    return hashlib.blake2b(ended, digest_size=16).hexdigest()


def overloads_of_others() -> Fingerprint:
    """Return the fingerprint of the overloads of library functions that were declared outside Numba.

    Any kernel may call one; the fingerprint of a kernel covers the overloads of functions of one's own.
    """
    declared = [(x.key, internals.overload_of(x)) for x in internals.declared_templates()]
    of_others = [
        (key, function)
        for key, function in declared
        # Functions that Numba compiles from text belong to no module.
        if function and (function.__module__ or "numba").partition(".")[0] not in _COMPILERS
        if classes.is_library_name(key) or not callable(key)
    ]
    return fingerprint(of_others, instances=True)


class Walk:
    """A walk through the contents of values: the functions of Python in them, and all that these read.

    `tokens`: the contents so far, a flat, unambiguous list; not a generator in generators, as deep as calls.
    `instances`: those of classes of Python count by their attributes, some of which may be caches that fill;
    else, like all objects, by identity.
    """

    def __init__(self, *, instances: bool = False) -> None:
        self.portable = True
        self.tokens: list[str | bytes] = []
        self._by_attributes = instances
        self.compiled: dict[Any, None] = {}  # in the order of completion: callees first
        self._functions: dict[int, int] = {}
        self._instances: dict[int, int] = {}
        self._modules: set[int] = set()

    def add(self, value: object) -> None:
        """Add the contents of `value`."""
        self.tokens.append((kind := type(value)).__qualname__)
        # The frequent kinds first: each kernel of a program that is traced is read three times.
        if kind in _BY_TEXT:
            self.tokens.append(repr(value))
        elif kind is tuple:
            self._sequence(cast(tuple[object, ...], value))
        elif kind in _BY_NAME:
            self._named(value)
        # Before numbers, of which members of an IntEnum are some.
        elif isinstance(value, enum.Enum):
            self.tokens += (type(value).__module__, value.name)
            self.add(value.value)
        elif isinstance(value, (int, str)):  # of a class that is derived
            self.tokens.append(repr(value))
        elif isinstance(value, (float, complex)):  # with all the bits of a NaN
            self.tokens.append(struct.pack("dd", complex(value).real, complex(value).imag))
        elif isinstance(value, bytes):
            self.tokens.append(value)
        elif isinstance(value, np.ndarray) and not (value.nbytes <= _COPIED_BYTES and value.flags.forc):
            self.tokens.append(self._identity(value))  # a kernel reads it in place
        elif isinstance(value, (np.ndarray, np.generic)):
            self.tokens += (str(value.dtype), str(value.shape), value.tobytes())
        elif isinstance(value, np.dtype):
            self.tokens.append(str(value))
        elif isinstance(value, (tuple, list)):
            self.tokens += getattr(value, "_fields", ())
            self._sequence(value)
        elif isinstance(value, (set, frozenset)):
            # The order of a set of strings is another one in every process.
            self._sequence(sorted(value, key=repr))
        elif isinstance(value, Mapping):
            self._sequence(sorted(value.items(), key=repr))
        else:
            self._named(value)

    def _sequence(self, items: Sequence[object]) -> None:
        self.tokens.append(str(len(items)))
        for item in items:
            self.add(item)

    def _named(self, value: object) -> None:
        """Add the contents of functions, dispatchers, modules and types; the identity of all else."""
        if (callback := internals.callback_of(value)) is not None:
            self.tokens.append(self._callback(value, callback))
        elif classes.is_library_name(value):
            self.tokens.append(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}")
        elif isinstance(value, types.FunctionType):
            self.function(value)
            self._overloads(value)
        elif isinstance(function := getattr(value, "py_func", None), types.FunctionType):
            self.function(function)
            self.add((getattr(value, "targetoptions", {}), getattr(value, "locals", {})))
            if internals.is_dispatcher(value):
                self.compiled[value] = None
        elif (definition := internals.definition_of(value)) is not None:
            self.function(definition)  # an intrinsic: `numba.extending.intrinsic`
        elif isinstance(value, types.CodeType):
            self.tokens.append(self.code(value))
        elif isinstance(value, types.ModuleType):
            self.tokens.append(value.__name__)
        elif classes.is_library_name(type(value)) and getattr(value, "__dict__", None) == {}:
            self.tokens.append(type(value).__qualname__)  # such as llvmlite's Undefined
        elif classes.is_numba_type(value):
            # The text of a type may have the address of an object in it.
            self.portable &= _ADDRESS not in str(value)
            self.tokens.append(str(value))
            self.tokens.append(str(internals.signature_of(value)))
        elif isinstance(value, np.ufunc):
            self.tokens.append(value.__name__)
        elif type(value) is functools.partial:
            self.add((value.func, value.args, value.keywords, vars(value)))
        elif any(inside := internals.dispatcher_and_methods(value)):
            self.tokens.append(self._identity(value))
            self.add(inside)
        elif isinstance(value, type) and (definition := classes.definition_of(value)) is not None:
            self.tokens.append(f"{value.__module__}.{value.__qualname__}")
            self.add(definition)
        elif type(value).__module__.startswith("numba."):
            self.tokens.append(self._identity(value))
        elif self._by_attributes and classes.is_of_python(type(value)):
            self._instance(value)
        else:
            self._c_function(value)

    def _instance(self, value: object) -> None:
        """Add the class of `value`, each class under which it stands, and its attributes."""
        if id(value) in self._instances:
            # One that was read already, or that has itself as an attribute, by its number.
            self.tokens.append(f"instance {self._instances[id(value)]}")
            return
        self._instances[id(value)] = len(self._instances)
        for kind in type(value).__mro__[:-1]:
            self.add(kind)
        self.add(object.__getstate__(value))

    def _c_function(self, value: object) -> None:
        """Add library, symbol and signature of a C function; the identity of one that has no name."""
        pointer = internals.pointer_of(value)
        name = None if pointer is None else name_of(pointer.address, getattr(value, "__name__", None))
        if pointer is None or name is None:
            self.tokens.append(self._identity(value))
        else:
            self.tokens += (*name, pointer.signature)

    def _callback(self, value: object, callback: internals.Callback) -> str:
        """Return the contents of a callback of Numba's; the identity of one that differs from a namesake."""
        hashed = fingerprint(callback.contents)
        if not hashed.portable or not name_callback(hashed.digest, callback.addresses):
            return self._identity(value)
        _kept_alive[id(value)] = value
        return hashed.digest

    def _identity(self, value: object) -> str:
        self.portable = False
        _kept_alive[id(value)] = value
        return f"object {id(value)}"

    def function(self, function: types.FunctionType) -> None:
        """Add the code of a function of Python, and all that it reads from outside."""
        if id(function) in self._functions:
            # One that was read already, or that calls itself, by its number.
            self.tokens.append(f"function {self._functions[id(function)]}")
            return
        self._functions[id(function)] = len(self._functions)
        self.tokens.append(self.code(function.__code__))
        self.read("its defaults", (function.__defaults__, function.__kwdefaults__))
        for name, value in references(function, function.__code__):
            self.read(name, value)
            if isinstance(value, types.ModuleType):
                self._attributes(value, function.__code__)

    def read(self, name: str, value: object) -> None:
        """Add the contents of `value`, which the function at hand reads from outside by `name`."""
        self.tokens.append(name)
        self.add(value)

    def _attributes(self, module: types.ModuleType, code: types.CodeType) -> None:
        """Add every attribute of `module` that `code` names: it may have the module under another name."""
        # A module may lead back to itself through those that it imports.
        if module.__name__.partition(".")[0] in classes.LIBRARIES or id(module) in self._modules:
            return
        self._modules.add(id(module))
        for name in sorted(names_in(code)):
            if hasattr(module, name):
                value = getattr(module, name)
                self.read(name, value)
                if isinstance(value, types.ModuleType):
                    self._attributes(value, code)

    def _overloads(self, function: types.FunctionType) -> None:
        """Add the overloads that Numba compiles in place of `function`, from `numba.extending.overload`."""
        for template in internals.templates_of(function):
            self.add((internals.overload_of(template), internals.options_of(template)))
            self.compiled[template] = None

    def code(self, code: types.CodeType) -> str:
        """Return the hash of the parts of code, which cannot change."""
        hashed = _fingerprint_of_code(code, code.co_exceptiontable)
        self.portable &= hashed.portable
        return hashed.digest


@functools.lru_cache(4096)
def _fingerprint_of_code(code: types.CodeType, exception_table: bytes) -> Fingerprint:
    """Return the fingerprint of the parts of code, none of which can change.

    Code objects are equal if all that is hashed here is, save the exception table in Python 3.11.
    """
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return fingerprint((code.co_name, code.co_code, exception_table, counts, names, code.co_consts))
