"""Find the arrays that a CUDA kernel stores to, by its PTX: types guard neither atomics nor `x.flat[i]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PARAMETER: Final = re.compile(r"ld\.param\.[ub]64\s+(%\w+), \[\w+_param_(\d+)\]")
_STORE: Final = re.compile(r"\b(?:st|red|atom)\.(?!param|local|shared)[\w.:]+\s.*?\[(%\w+)(?:\+-?\d+)?\]")
_REGISTERS: Final = re.compile(r"%\w+")
_OTHERS: Final = re.compile(r"\s*(@!?%\w+\s+)?(ld|st|red|atom|setp|call|bra|ret)\b")


def stored_arrays(ptx: str, addresses: Mapping[int, int]) -> set[int]:
    """Return the arrays that an entry point certainly stores to; `addresses`: parameter -> array.

    An address is followed through registers, not through memory or functions that are called.
    """
    body = ptx[ptx.index(".entry") :].partition("\n}")[0]
    lines = [line for line in body.splitlines() if "%" in line and not line.lstrip().startswith(".reg")]
    of: dict[str, set[int]] = {}
    for register, parameter in _PARAMETER.findall(body):
        if int(parameter) in addresses:
            of[register] = {addresses[int(parameter)]}
    before = -1
    while before != (before := sum(map(len, of.values()))):
        for line in lines:
            if not _OTHERS.match(line):
                result, *sources = _REGISTERS.findall(line)
                if found := set[int]().union(*(of.get(x, ()) for x in sources)):
                    of[result] = of.get(result, set()) | found
    stored = (of.get(register, set()) for register in _STORE.findall("\n".join(lines)))
    return {next(iter(arrays)) for arrays in stored if len(arrays) == 1}
