"""Parse PTX: the text that NVVM, NVRTC and Triton write for a GPU's assembler."""

import itertools
import math
import re
from collections import ChainMap
from collections.abc import Iterator
from typing import Final

from ptx_on_cpu.errors import PtxSyntaxError
from ptx_on_cpu.syntax.program import Function, Instruction, Program, Variable, width

_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FILE: Final = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)".*$', re.MULTILINE)
_MODULE_LINE: Final = re.compile(r"^\s*\.(?:version|target|address_size)\b.*$", re.MULTILINE)
# Debug information in binary form.
_SECTION: Final = re.compile(r"^\s*\.section[^{]*\{[^}]*\}", re.MULTILINE)
_LOCATION: Final = re.compile(
    r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?.*$", re.MULTILINE
)
# Functions of headers are told by the line that calls them.
_HEADER_FILE: Final = re.compile(r"\.(h|hpp|cuh|inl)$")
_HEADER: Final = re.compile(r"\.(entry|func)\b([^;{]*)([;{])")
# Two colons are of a modifier, as in `shared::cta`.
_LABEL: Final = re.compile(r"([\w$]+)\s*:(?!:)\s*")
_INSTRUCTION: Final = re.compile(r"(?:@(!?\s*[%$\w]+)\s+)?([\w.:]+)\s*(.*)", re.DOTALL)
# Commas in brackets, angles or parentheses are within an operand.
_BETWEEN_OPERANDS: Final = re.compile(r",(?![^<(\[]*[>)\]])")
_VARIABLE: Final = re.compile(
    r"\.(?P<space>param|global|shared|local|const)\s+(?:\.align\s+(?P<align>\d+)\s+)?"
    r"(?:\.v(?P<lanes>[24])\s+)?\.(?P<kind>\w+)\s+"
    r"(?:\.ptr\s+(?:\.(?:global|shared|local|const)\s+)?(?:\.align\s+\d+\s+)?)?"
    r"(?P<name>[\w$%.]+)\s*(?P<dims>(?:\[\d*\]\s*)*)(?:=\s*(?P<init>.*))?",
    re.DOTALL,
)
_REGISTERS: Final = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.*)", re.DOTALL)
_REGISTER: Final = re.compile(r"([\w%$.]+)(?:<(\d+)>)?")


def parse(ptx: str) -> Program:
    """Return the functions and variables of a module; raise PtxSyntaxError for text that is no PTX."""
    text = _COMMENT.sub(" ", ptx.rstrip("\0"))
    if not re.match(r"\s*\.version\b", text):
        raise PtxSyntaxError(f"this is no PTX, which begins with .version: {ptx[:60]!r}")
    files = {number: path.rsplit("/", 1)[-1] for number, path in _FILE.findall(text)}
    for pattern in (_FILE, _MODULE_LINE, _SECTION):
        text = pattern.sub("", text)
    inlined = {place.groups()[:3]: place.groups()[3:] for place in _LOCATION.finditer(text) if place[4]}
    text = _LOCATION.sub(lambda place: f".loc {_source(place.groups()[:3], inlined, files)};", text)
    functions: dict[str, Function] = {}
    variables: list[Variable] = []
    at = 0
    while header := _HEADER.search(text, at):
        variables += _variables(text[at : header.start()], ";")
        at = header.end()
        if header[3] == "{":
            end = _matching_brace(text, at)
            function = _function(header[1] == "entry", header[2], text[at : end - 1])
            functions[function.name] = function
            at = end
    return Program(functions, [*variables, *_variables(text[at:], ";")])


def _source(
    place: tuple[str, ...], inlined: dict[tuple[str, ...], tuple[str, ...]], files: dict[str, str]
) -> str:
    """Return the file and line of a place; of the call that a header's function is inlined for."""
    seen = {place}
    while _HEADER_FILE.search(files.get(place[0], "")) and place in inlined and inlined[place] not in seen:
        place = inlined[place]
        seen.add(place)
    return f"{files.get(place[0], '?')}:{place[1]}"


def _matching_brace(text: str, at: int) -> int:
    """Return the place behind the brace that closes the one before `at`."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[at:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return at + brace.end()
    raise PtxSyntaxError("a function has no end: a brace is missing")


def _variables(text: str, between: str) -> list[Variable]:
    return [variable for statement in text.split(between) if (variable := _variable(statement))]


def _variable(text: str) -> Variable | None:
    match = _VARIABLE.search(text)
    if not match:
        return None
    size = max(1, width(match["kind"]) // 8) * int(match["lanes"] or 1)
    extents = [int(n or 0) for n in re.findall(r"\[(\d*)\]", match["dims"])]
    content = [x.strip() for x in re.split(r"[{},\s]+", match["init"] or "") if x.strip()]
    align = int(match["align"] or size)
    return Variable(match["name"], match["space"], align, size * math.prod(extents), content, match["kind"])


def _function(is_entry: bool, header: str, body: str) -> Function:
    name = re.search(
        r"([\w$.]+)\s*\(|([\w$.]+)\s*$", re.sub(r"^\s*\([^)]*\)", "", header.split(".maxntid")[0])
    )
    if name is None:
        raise PtxSyntaxError(f"a function has no name: {header.strip()!r}")
    lists = [_variables(text, ",") for text in re.findall(r"\(([^()]*)\)", header)]
    results = lists.pop(0) if not is_entry and re.match(r"\s*\(", header) else []
    function = Function(name[1] or name[2], is_entry, results, lists[0] if lists else [])
    line = ""
    for statement in map(str.strip, flattened(body).split(";")):
        text = _labelled(function, statement)
        if text.startswith(".loc "):
            line = text.removeprefix(".loc ")
        elif text.startswith("."):
            _declare(function, text)
        elif text:
            function.body.append(_instruction(text, line))
    return function


def _labelled(function: Function, text: str) -> str:
    """Note the labels in front of a statement, and return the statement."""
    while label := _LABEL.match(text):
        function.labels[label[1]] = len(function.body)
        text = text[label.end() :]
        if targets := re.match(r"\.branchtargets\s+(.*)", text, re.DOTALL):
            function.targets[label[1]] = [target.strip() for target in targets[1].split(",")]
            return ""
    return text


def _declare(function: Function, text: str) -> None:
    """Note the registers or the variable that a directive declares."""
    if registers := _REGISTERS.match(text):
        for name, count in _REGISTER.findall(registers[2]):
            names = [f"{name}{i}" for i in range(int(count))] if count else [name]
            function.registers |= dict.fromkeys(names, registers[1])
    elif variable := _variable(text):
        function.variables.append(variable)


def _instruction(text: str, line: str) -> Instruction:
    match = _INSTRUCTION.fullmatch(text)
    if match is None:
        raise PtxSyntaxError(f"no instruction: {text!r}")
    operands = tuple(" ".join(x.split()) for x in _BETWEEN_OPERANDS.split(match[3]) if x.strip())
    # So that `shared::cta` is one modifier, which begins with its space.
    return Instruction(match[2].replace("::", "_"), operands, (match[1] or "").replace(" ", ""), line)


_VECTOR: Final = re.compile(r"\{([^{};]*)\}")
_BRACE: Final = re.compile(r"([{}])")
_DECLARED: Final = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.\w+\s+([^;]*)")
_LABEL_WITHIN: Final = re.compile(r"(?:^|[;\s])([\w$]+)\s*:(?!:)")
_WORD: Final = re.compile(r"[\w%$]+")

Block = list["str | Block"]


def flattened(body: str) -> str:
    """Return the statements without blocks; a name that a block declares anew is replaced within it.

    Braces of vector operands become angles.
    """
    whole = _nested(iter(_BRACE.split(_VECTOR.sub(r"<\1>", body))))
    return ";".join(_statements(whole, ChainMap(), set(), itertools.count()))


def _nested(pieces: Iterator[str]) -> Block:
    """Return the pieces up to the brace that closes a block; a block among them is a nested list."""
    return [_nested(pieces) if piece == "{" else piece for piece in iter(lambda: next(pieces, "}"), "}")]


def _statements(
    block: Block, names: ChainMap[str, str], taken: set[str], numbers: Iterator[int]
) -> Iterator[str]:
    """Yield the statements of a block; `names` maps the registers and labels around it to their new names."""
    declared = set[str]().union(*(_declared(piece) for piece in block if isinstance(piece, str)))
    hidden = {name: f"{name}_hidden{next(numbers)}" for name in sorted(declared & taken)}
    taken |= declared
    names = names.new_child(hidden)
    for piece in block:
        if isinstance(piece, str):
            yield _renamed(piece, names) if names else piece
        else:
            yield from _statements(piece, names, taken, numbers)


def _declared(text: str) -> set[str]:
    """Return the registers and labels that statements declare."""
    declared = set(_LABEL_WITHIN.findall(text))
    for names in _DECLARED.findall(text):
        for name, count in _REGISTER.findall(names):
            declared |= {f"{name}{i}" for i in range(int(count))} if count else {name}
    return declared


def _renamed(text: str, names: ChainMap[str, str]) -> str:
    """Return statements with new names; registers that are declared by number are declared one by one."""

    def listed(word: re.Match[str]) -> str:
        return ", ".join(f"{word[1]}{i}" for i in range(int(word[2]))) if word[2] else word[0]

    text = _DECLARED.sub(lambda each: each[0].replace(each[1], _REGISTER.sub(listed, each[1])), text)
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)
