"""Change our docstrings for Napoleon: `Returns:` and `Source:` become fields."""

import re
from typing import Any, Final

_NAMED: Final = re.compile(r"[A-Za-z_]\w*(, [A-Za-z_]\w*)*: ")
_SOURCE: Final = "Source: "


def setup(app: Any) -> dict[str, bool]:
    """Come before Napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", adapt, priority=100)
    return {"parallel_read_safe": True}


def adapt(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place, at an event of Sphinx."""
    lines[:] = with_source(with_returns(lines))


def with_returns(lines: list[str]) -> list[str]:
    """List returned values with names as arguments are; make a value without one a paragraph."""
    if "Returns:" not in lines:
        return lines
    start = lines.index("Returns:")
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    block = [line for line in lines[start + 1 : end] if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in block)
    first_lines = [line[margin:] for line in block if not line[margin:].startswith(" ")]
    if all(_NAMED.match(line) for line in first_lines):
        return [*lines[:start], "Outputs:", *lines[start + 1 :]]
    # Napoleon would take what stands in front of a colon for the type.
    return [*lines[:start], *_field("Returns", block), *lines[end:]]


def with_source(lines: list[str]) -> list[str]:
    """Make a field of `Source: ...`, up to the next empty line."""
    starts = [i for i, line in enumerate(lines) if line.startswith(_SOURCE)]
    if not starts:
        return lines
    start = starts[-1]
    end = next((i for i in range(start, len(lines)) if not lines[i].strip()), len(lines))
    block = [lines[start].removeprefix(_SOURCE), *lines[start + 1 : end]]
    return [*lines[:start], *_field("Source", block), *lines[end:]]


def _field(name: str, block: list[str]) -> list[str]:
    first, *rest = (line.strip() for line in block)
    return ["", f":{name}: {first}", *(f"    {line}" for line in rest), ""]
