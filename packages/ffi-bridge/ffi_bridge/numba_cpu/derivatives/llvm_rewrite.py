"""LLVM's text of a kernel, made fit for Enzyme.

Enzyme follows loads, stores, arithmetic, `malloc` and `free`. Of what Numba emits around a kernel's own
arithmetic it cannot follow the runtime, which counts references by atomic operations, nor the functions that
put the texts of exceptions together.
"""

import itertools
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from llvmlite import binding as llvm

from ffi_bridge.numba_cpu.derivatives import failures, powers
from ffi_bridge.numba_cpu.internals import freed_passes

# Numba's runtime as functions of LLVM's text. Enzyme follows counts of references where
# they are plain loads and stores of memory from `malloc`.
_RUNTIME: Final = {
    counted: "".join(Path(__file__).with_name(f"{name}.ll").read_text() for name in ("runtime", count))
    for counted, count in ((True, "counted"), (False, "uncounted"))
}
_IN_RUNTIME: Final = re.compile(
    r"numba_attempt_nocopy_reshape|NRT_(Allocate|Free|MemInfo_(alloc|alloc_aligned|new_varsize_dtor|data_fast)|"
    "incref|decref)|malloc|free"
)

# Functions that put together what an exception says: the kernel itself says it, see `kernels`.
_OF_ERRORS: Final = re.compile(r"unicode|raise_with_shape_context|ol_str_generic")
_PYTHON: Final = re.compile(r"__excinfo_unwrap_args.*|Py[A-Z]\w+")

RECORDS: Final = "elements of an array of records"
STRINGS: Final = "strings, and not only to raise an exception"
# What a string is made by, and how the code goes on from there; elements of arrays of records are bytes.
_OF_STRINGS: Final = re.compile(r" call [^\n(]*@\"?[^\n(]*(unicode|ol_str_generic)")
_BLOCK: Final = re.compile(r"^(?=[\w.$-]+:)", re.M)
_TARGET: Final = re.compile(r"label %([\w.$-]+)")
_SUCCEEDS: Final = re.compile(r"^ *ret i32 0$", re.M)
_RECORD: Final = re.compile(r"^ *%\S+ = getelementptr [^\n,]*\[\d+ x i8\], ptr %", re.M)

_DEFINITION: Final = re.compile(r"^define [^\n]*?@(\"[^\"]+\"|[\w.$-]+)\([^\n]*\{\n.*?^\}\n", re.M | re.S)
_DECLARATION: Final = re.compile(r"^declare [^\n]*?@(\"[^\"]+\"|[\w.$-]+)\([^\n]*\n", re.M)
OPAQUE: Final = "ffi_bridge_index"
_INTEGER: Final = '"enzyme_type"="{[-1]:Integer}"'
OPAQUE_DECLARED: Final = f"""
declare {_INTEGER} i64 @{OPAQUE}(i64 {_INTEGER}) nofree nosync nounwind willreturn memory(none) \
"enzyme_inactive" "enzyme_shouldrecompute"
"""
_ADDRESS: Final = re.compile(r"^ *(?P<name>%\S+) = getelementptr [^\n]*\n", re.M)
_VARIABLE_INDEX: Final = re.compile(r", i64 (%[^\s,]+)")
_LAST_INDEX: Final = re.compile(r", i64 (-?\d+)$", re.M)
_OF_POINTERS: Final = re.compile(r"(?:load ptr|store ptr [^\s,]+), ptr (%[^\s,]+)")
_HEAD: Final = re.compile(r"^(define [^\n]*?)( #\d+)? \{$", re.M)
_NO_LIBRARY: Final = '"no-builtins"'
_LOAD: Final = re.compile(r"^ *(?P<name>%\S+) = load (?P<type>float|double|i32|i64), [^\n]*$", re.M)
# Numbers of metadata beyond those that a module of Numba's has.
_MARKS: Final = {"float": 2000, "double": 2001, "i32": 2000, "i64": 2001}
_TYPES: Final = """
!2000 = !{!"Unknown", i32 -1, !2002}
!2001 = !{!"Unknown", i32 -1, !2003}
!2002 = !{!"Float@float"}
!2003 = !{!"Float@double"}
"""
# What the functions around the kernel declare, see `entry`.
_DECLARED_LATER: Final = re.compile(r"^declare [^\n]*@(malloc|free|llvm\.memcpy\.p0\.p0\.i64)\(.*\n", re.M)


@freed_passes()
def reached(text: str, kernel: str, counted: bool) -> str:
    """Return the part of the module `text` that the function `kernel` reaches, in terms that Enzyme follows.

    `counted`: whether arrays that nothing refers to are let go of.
    """
    text = failures.leaving(_DECLARATION.sub(_declared, _DEFINITION.sub(_defined, text)))
    module = llvm.parse_assembly(declared_once(text + _RUNTIME[counted] + powers.DECLARED))
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == kernel else "internal"
    _inline_and_prune(module, _builder(0))
    return str(module)


@freed_passes()
def one_function(text: str, kernel: str, simplified: bool) -> str:
    """Return a module from `reached` as one function; `simplified`: where nothing is read twice.

    What is read twice would be kept twice: once indices are hidden, nobody sees that they are equal. LLVM is
    not to make `memset` or `calloc` of loops, whose types Enzyme would ask for, nor loops over vectors.
    """
    # Some functions Numba keeps apart, and here one is to be left.
    module = llvm.parse_assembly(_HEAD.sub(rf"\1 {_NO_LIBRARY}\2 {{", text.replace(" noinline", "")))
    for function in module.functions:
        if not function.is_declaration and function.name != kernel:
            function.add_function_attribute("alwaysinline")
    builder = _builder(2)
    _inline_and_prune(module, builder)
    if simplified:
        builder.getFunctionPassManager().run(module.get_function(kernel), builder)
    return _DECLARED_LATER.sub("", without_marks(str(module).replace(_NO_LIBRARY, '"of-a-kernel"')))


def for_enzyme(text: str, copies: Collection[str]) -> str:
    """Return a module from `one_function` in terms that Enzyme follows.

    `copies`: the loads of integers that copy floats, by name, see `bits`.
    """
    return _with_types(_with_opaque_indices(text), copies)


def _with_types(text: str, copies: Collection[str]) -> str:
    """Mark loads of floats: where a value is only handed on, Enzyme does not take LLVM's word for it."""

    def marked(load: re.Match[str]) -> str:
        is_float = load["type"][0] != "i" or load["name"] in copies
        return f"{load[0]}, !enzyme_type !{_MARKS[load['type']]}" if is_float else load[0]

    return _LOAD.sub(marked, text) + _TYPES


def _with_opaque_indices(text: str) -> str:
    """Hide from Enzyme how indices in a loop are related.

    Enzyme asks LLVM whether a store may overwrite what a load has read, and takes the answer, which is of
    one turn of a loop, for all turns: after `v[i] = f(v[i + 1])` its reverse mode reads `v[i + 1]` again, as
    it is after the next turn. Of indices that come from a function nothing is known, and the load is kept.
    Known ones are hidden, too: where `v[i]` is the base of an address, `v[i + 1]` is the next element of it.
    """
    count, pointers = itertools.count(), set(_OF_POINTERS.findall(text))

    def opaque(line: re.Match[str]) -> str:
        calls: list[str] = []

        def hidden(index: re.Match[str]) -> str:
            name = f"%hidden{next(count)}"
            calls.append(f"  {name} = call i64 @{OPAQUE}(i64 {index[1]})\n")
            return f", i64 {name}"

        changed = _VARIABLE_INDEX.sub(hidden, line[0])
        if line["name"] not in pointers:  # no place in a structure that holds the address of an array
            changed = _LAST_INDEX.sub(hidden, changed)
        return "".join(calls) + changed

    return _ADDRESS.sub(opaque, text) + OPAQUE_DECLARED


def refused_in(text: str) -> list[str]:
    """Return the constructs of a prepared kernel that have no derivative, beside its calls."""
    records = [RECORDS] if _RECORD.search(text) else []
    strings = any(_succeeds_after_a_string(x[0]) for x in _DEFINITION.finditer(text))
    return [*records, *([STRINGS] if strings else ())]


def _succeeds_after_a_string(function: str) -> bool:
    blocks = {x.partition(":")[0]: x for x in _BLOCK.split(function)}
    reached = {name for name, block in blocks.items() if _OF_STRINGS.search(block)}
    visited: set[str] = set()
    while reached:
        visited |= reached
        reached = {x for name in reached for x in _TARGET.findall(blocks[name])} - visited
    return any(_SUCCEEDS.search(blocks[name]) for name in visited)


def declared_in(text: str) -> list[str]:
    """Return the names of functions that a module declares, and does not define."""
    return [match[1].strip('"') for match in _DECLARATION.finditer(text)]


def declared_once(text: str) -> str:
    """Leave one declaration of each function."""
    seen: set[str] = set()

    def once(declaration: re.Match[str]) -> str:
        is_repeated = declaration[1] in seen
        seen.add(declaration[1])
        return "" if is_repeated else declaration[0]

    return _DECLARATION.sub(once, text)


def _defined(definition: re.Match[str]) -> str:
    name = definition[1].strip('"')
    if _IN_RUNTIME.fullmatch(name) or name.startswith("nrt_atomic"):
        return ""
    head = definition[0].partition("\n")[0]
    if _PYTHON.fullmatch(name):
        return f"{head}\n  ret ptr null\n}}\n"
    if (power := powers.by_llvm(name, head)) is not None:
        return power
    if _OF_ERRORS.search(name):
        return f"{head}\n  ret {'void' if ' void @' in head else 'i32 1'}\n}}\n"
    return definition[0]


def _declared(declaration: re.Match[str]) -> str:
    name = declaration[1].strip('"')
    if name == "PyErr_SetString":  # without the GIL
        return "define internal void @PyErr_SetString(ptr %kind, ptr %text) {\n  ret void\n}\n"
    return "" if _IN_RUNTIME.fullmatch(name) else declaration[0]


def _builder(level: int) -> Any:
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    return llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))


def _inline_and_prune(module: Any, builder: Any) -> None:
    """Inline functions that are marked so, and remove functions that nothing calls."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)


def without_marks(text: str) -> str:
    """Return a module without marks, whose forms differ between versions of LLVM, but for marks of types."""
    text = re.sub(r", !(?!tbaa )[A-Za-z_.]+ ![0-9]+", "", text)
    text = re.sub(r"^.*@llvm\.experimental\.noalias\.scope\.decl.*\n", "", text, flags=re.M)
    return re.sub(r" captures\([^)]*\)", "", text)
