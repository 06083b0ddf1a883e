"""LLVM's text in the making."""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

# A definition, or a declaration, which has a line; `$` and braces are of names that are filled in.
_PIECE: Final = re.compile(r"^(?:define .*?@([\w.${}]+)\(.*?^}|declare .*?@([\w.]+)\(.*?)$", re.M | re.S)
FLOATS: Final = {"f32": "float", "f64": "double"}


def llvm_type(kind: str, width: int) -> str:
    """Return LLVM's type for values of a PTX type; narrow floats are bits."""
    return FLOATS.get(kind) or f"i{width}"


def text_of(file: str) -> str:
    """Return LLVM's text in a file of this folder."""
    return (files("ptx_on_cpu.translate") / file).read_text(encoding="utf-8")


def pieces(text: str) -> dict[str, str]:
    """Return the text of every function that is defined or declared, by name."""
    return {piece[1] or piece[2]: piece[0] for piece in _PIECE.finditer(text)}


class Text:
    """Lines of a function's body, names for its values, and the declarations that its module needs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self._count = 0

    def name(self) -> str:
        """Return a new name for a value."""
        self._count += 1
        return f"%t{self._count}"

    def new(self, expression: str) -> str:
        """Add a line that computes a value, and return the value's name."""
        name = self.name()
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, line: str) -> None:
        """Add a line without a value."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """Begin a basic block; the one before falls into it, unless it has ended."""
        if not self.has_ended:
            self.do(f"br label %{name}")
        self.lines.append(f"{name}:")

    @property
    def has_ended(self) -> bool:
        """Return whether the current basic block has its end."""
        return bool(self.lines) and self.lines[-1].lstrip().startswith(
            ("br ", "ret ", "unreachable", "switch ")
        )

    def declare(self, name: str, text: str) -> None:
        """Note a declaration or definition that the module needs, once for each name."""
        self.declared[name] = text

    def call(self, function: str, kind: str, *arguments: str) -> str:
        """Call an intrinsic or a function of C; arguments are `type value`."""
        kinds = ", ".join(argument.rsplit(" ", 1)[0] for argument in arguments)
        self.declare(function, f"declare {kind} @{function}({kinds})")
        return self.new(f"call {kind} @{function}({', '.join(arguments)})")

    def intrinsic(self, name: str, kind: str, *values: str, more: Sequence[str] = ()) -> str:
        """Call `llvm.name` for values of one type of LLVM's."""
        # The name of an intrinsic has LLVM's short words for types.
        suffix = {"float": "f32", "double": "f64"}.get(kind, kind)
        return self.call(f"llvm.{name}.{suffix}", kind, *(f"{kind} {value}" for value in values), *more)

    def resized(self, value: str, bits: int, wanted: int, is_signed: bool = False) -> str:
        """Return an integer of `bits` bits as one of `wanted` bits."""
        if bits == wanted:
            return value
        how = "trunc" if wanted < bits else "sext" if is_signed else "zext"
        return self.new(f"{how} i{bits} {value} to i{wanted}")
