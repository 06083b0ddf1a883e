"""Put the bodies of device functions in the place of their calls, so that a kernel is one function.

A thread that has to wait within a device function can then be left and resumed like any other, and its
registers and local memory are the kernel's.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from ptx_on_cpu.errors import UnsupportedError
from ptx_on_cpu.syntax.program import Function, Instruction, readable

# With the prefixes of calls within calls; not the end of a number such as 0x1F.
_NAME: Final = re.compile(r"(?<![\w$%.])[A-Za-z_$%][\w$%.]*")


def inlined(function: Function, functions: Mapping[str, Function], builtin: Collection[str]) -> Function:
    """Return `function` without calls, except of `builtin` functions.

    Raises UnsupportedError for recursion, calls by address, and functions that are not in the module.
    """
    return _inlined(function, functions, builtin, (function.name,))


def _inlined(
    function: Function, functions: Mapping[str, Function], builtin: Collection[str], callers: tuple[str, ...]
) -> Function:
    whole = replace(
        function,
        registers=dict(function.registers),
        variables=list(function.variables),
        body=[],
        labels={},
        targets=dict(function.targets),
    )
    places: dict[int, int] = {}
    for at, instruction in enumerate(function.body):
        places[at] = len(whole.body)
        if instruction.name != "call" or (callee := _callee(instruction)) in builtin:
            whole.body.append(instruction)
            continue
        # Each call has a copy of its own: recursion would have no end.
        if callee in callers:
            raise UnsupportedError(f"function '{readable(callee)}' calls itself; write a loop in its place")
        if callee not in functions:
            raise UnsupportedError(_unknown(callee, function))
        body = _inlined(functions[callee], functions, builtin, (*callers, callee))
        mine = [v.name for v in functions[callee].variables if v.space == "shared"]
        _insert(whole, body, instruction, f"{callee}.{at}.", {name: f"{callee}.{name}" for name in mine})
    places[len(function.body)] = len(whole.body)
    whole.labels |= {label: places[at] for label, at in function.labels.items()}
    return whole


def _callee(call: Instruction) -> str:
    return next(operand for operand in call.operands if not operand.startswith("("))


def _unknown(callee: str, function: Function) -> str:
    caller = readable(function.name)
    if callee in function.registers:
        return f"'{caller}' calls a function by its address ({callee})"
    return f"'{caller}' calls '{callee}', which is in no module; link it, or give its PTX, too"


def _insert(
    whole: Function, body: Function, call: Instruction, prefix: str, lasting: Mapping[str, str]
) -> None:
    """Append a function's body, with fresh names, between copies of its arguments and results.

    `lasting`: names of its variables in shared memory, which all calls have in common.
    """
    lists = [[x.strip() for x in o.strip("()").split(",") if x.strip()] for o in call.operands if o[0] == "("]
    actual = [name for each in lists for name in each]
    formal = [*body.results, *body.params]
    if len(actual) != len(formal):
        raise UnsupportedError(f"a call of '{body.name}' has {len(actual)} operands, expected {len(formal)}")
    is_mine = {v.name: v.space != "shared" for v in body.variables}
    names_within = {*body.registers, *body.labels, *body.targets, *(x for x in is_mine if is_mine[x])}
    # The caller's variables stand for the parameters: nothing is copied.
    parameters = zip((v.name for v in formal), actual, strict=True)
    names = {name: prefix + name for name in names_within} | dict(lasting) | dict(parameters)

    def renamed(text: str) -> str:
        return _NAME.sub(lambda match: names.get(match[0], match[0]), text)

    end = f"{prefix}end"
    whole.registers |= {prefix + name: kind for name, kind in body.registers.items()}
    variables = [replace(v, name=names.get(v.name, v.name)) for v in body.variables]
    whole.variables += [v for v in variables if v not in whole.variables]
    start = len(whole.body)
    skip = f"{prefix}skip"
    if call.guard:
        # Of a guarded call the body is jumped over.
        opposite = call.guard[1:] if call.guard[0] == "!" else f"!{call.guard}"
        whole.body.append(Instruction("bra", (skip,), opposite, call.line))
        start += 1
    for instruction in body.body:
        guard = instruction.guard and renamed(instruction.guard)
        if instruction.name == "ret":
            whole.body.append(Instruction("bra", (end,), guard, instruction.line))
        else:
            operands = tuple(map(renamed, instruction.operands))
            whole.body.append(replace(instruction, operands=operands, guard=guard))
    whole.labels |= {prefix + label: start + at for label, at in body.labels.items()}
    whole.targets |= {prefix + name: [prefix + x for x in labels] for name, labels in body.targets.items()}
    whole.labels |= {end: len(whole.body), skip: len(whole.body)}
