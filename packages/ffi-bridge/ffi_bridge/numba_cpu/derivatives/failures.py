"""Where a kernel raises, in LLVM's text: its derivative is left at once.

Numba's function returns 1 from there, and so do those that called it. For Enzyme that is one more way out of
the function, from within its loops: it would make the way back from there, too, which enters the loops of the
reverse mode from the side, where LLVM optimises none, and the loops would count their turns as they go. So
each branch to where nothing but a failure follows becomes a call, which does not return if it is to fail.
"""

import re
from typing import Final

NAME: Final = "ffi_bridge_fail_if"
_DECLARED: Final = f"""
declare void @{NAME}(i1) nounwind memory(inaccessiblemem: readwrite) "enzyme_inactive"
"""
_OF_NUMBA: Final = re.compile(
    r"^define (?P<head>[^\n]*%excinfo\b[^\n]*?)(?P<marks> #\d+)? \{\n(?P<body>.*?)^\}\n", re.M | re.S
)
_BLOCK: Final = re.compile(r'^(?=(?:"[^"\n]+"|[\w.$-]+):)', re.M)
_QUOTE: Final = '"'
_LABEL: Final = r'%("[^"]+"|[\w.$-]+)'
_TARGET: Final = re.compile(f"label {_LABEL}")
_BRANCH: Final = re.compile(f"^ *br i1 ([^,\n]+), label {_LABEL}, label {_LABEL}[^\n]*$", re.M)
_RAISES: Final = re.compile(r"^ *ret i32 [1-9]", re.M)
_PASSES_ON: Final = re.compile(r"^ *ret i32 (%\S+)$", re.M)
_TRIES: Final = re.compile(r"^ *store i64 %\S+, ptr %try_state\b", re.M)
# After a call that failed, outside of any `try`: whether it is inside of one.
_NO_TRY: Final = re.compile(
    r"(?P<before>^ *(%\S+) = load i64, ptr %try_state\b[^\n]*\n *(%\S+) = icmp ugt i64 \2, 0\n"
    r"(?:.*\n)*? *(%\S+) = xor i1 \3, true\n) *br i1 \4, label (?P<fails>%\S+), label %\S+$",
    re.M,
)
# In optimised code, the one block that returns, whichever way was taken.
_RETURN: Final = re.compile(
    rf"^(?P<label>{_LABEL[1:]}):[^\n]*\n"
    r" *(?P<status>%\S+) = phi i32 (?P<ways>[^\n]*)\n *ret i32 (?P=status)\n+",
    re.M,
)
_WAY: Final = re.compile(rf"\[ (\S+), {_LABEL} \]")


def leaving(text: str) -> str:
    """Return a module whose functions do not return where they fail; one that catches exceptions as it is.

    What LLVM knows of a function, as that it always returns, is forgotten.
    """
    return text if _TRIES.search(text) else _OF_NUMBA.sub(_without_ways_out, text) + _DECLARED


def _without_ways_out(function: re.Match[str]) -> str:
    body = _NO_TRY.sub(r"\g<before>  br label \g<fails>", function["body"])
    blocks = _with_returns({x.partition(":")[0]: x for x in _BLOCK.split(body) if x})
    failing = _failing(blocks, function["marks"] is None)
    remaining = {
        name: _checked(name, block, failing) for name, block in blocks.items() if name not in failing
    }
    if remaining and not failing.intersection(
        x for block in remaining.values() for x in _TARGET.findall(block)
    ):
        blocks = remaining
    return f"define {function['head']} {{\n{''.join(blocks.values())}}}\n"


def _with_returns(blocks: dict[str, str]) -> dict[str, str]:
    """Return the blocks of a function where each way out has a separate return."""
    common = next((x for x in map(_RETURN.match, blocks.values()) if x), None)
    if common is None:
        return blocks
    end, ways = common["label"], {block: status for status, block in _WAY.findall(common["ways"])}
    goes = re.compile(rf"^ *br label %{re.escape(end)}$", re.M)
    if not all(goes.search(blocks[x]) for x in ways):
        return blocks
    returning = {x: goes.sub(f"  ret i32 {status}", blocks[x]) for x, status in ways.items()}
    return {x: returning.get(x, block) for x, block in blocks.items() if x != end}


def _failing(blocks: dict[str, str], as_emitted: bool) -> set[str]:
    """Return the names of blocks after which nothing but a failure follows.

    In code `as_emitted` a block that returns what a call in another one has returned is for failures alone.
    Of what is optimised LLVM knows something, and says so.
    """
    failing = {name for name, block in blocks.items() if _RAISES.search(block)}
    if as_emitted:
        for name, block in blocks.items():
            passed = _PASSES_ON.search(block)
            if passed and any(f"  {passed[1]} = call i32 " in x for x in blocks.values() if x is not block):
                failing.add(name)
    targets = {name: set(_TARGET.findall(block)) for name, block in blocks.items()}
    # A block fails, too, that leads to failing ones alone.
    while more := {x for x, to in targets.items() if to and to <= failing} - failing:
        failing |= more
    return failing


def _checked(name: str, block: str, failing: set[str]) -> str:
    """Return a block that goes on where it does not fail."""

    def checked(branch: re.Match[str]) -> str:
        fails, first, second = branch.groups()
        if first in failing:
            return f"  call void @{NAME}(i1 {fails})\n  br label %{second}"
        if second in failing:
            inverted = f'%"{name.strip(_QUOTE)}.fails"'
            call = f"  call void @{NAME}(i1 {inverted})\n  br label %{first}"
            return f"  {inverted} = xor i1 {fails}, true\n{call}"
        return branch[0]

    return _BRANCH.sub(checked, block)
