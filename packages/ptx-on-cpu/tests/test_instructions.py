"""Instructions on integers and bits, each in a kernel of its own, against plain Python."""

import numpy as np
import ptx_arithmetic
import ptx_bits
import ptx_choices
import pytest
from ptx_cases import CASES, NAMES, bits

import ptx_on_cpu

THREADS = 512
TABLES = (ptx_arithmetic, ptx_bits, ptx_choices)  # each adds its part to CASES
STORED = {"s": "i", "u": "u", "b": "u", "f": "f"}


def instruction(case):
    """The case's instruction without the types: `add`, `mad.hi`."""
    return [part for part in case.text.split(" ")[0].split(".") if not part[1:].isdigit()]


QUICK = list({str(instruction(case)): case for case in reversed(CASES)}.values())


def dtype(kind):
    return np.dtype("u4" if kind == "pred" else f"{STORED[kind[0]]}{bits(kind) // 8}")


def register(kind):
    """The type of a register for values of a type: the narrowest has 16 bits."""
    return kind if kind[0] in "pf" else f"b{max(16, bits(kind))}"


def kernel_of(case):
    """A kernel: `text` for operands that are loaded from arrays, its result stored to the last one."""
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(case.operands) + 1))
    names = NAMES[: len(case.operands)]
    lines = ["mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.s32 %i, %i, %n, %t;"]
    for i, kind in enumerate([*case.operands, case.result]):
        lines.append(
            f"ld.param.u64 %q{i}, [p{i}]; cvta.to.global.u64 %q{i}, %q{i};"
            f" mul.wide.u32 %o, %i, {dtype(kind).itemsize}; add.s64 %q{i}, %q{i}, %o;"
        )
    for i, (name, kind) in enumerate(zip(names, case.operands, strict=True)):
        if kind == "pred":
            lines.append(f"ld.global.u32 %t, [%q{i}]; setp.ne.u32 {name}, %t, 0;")
        else:
            lines.append(f"ld.global.{kind} {name}, [%q{i}];")
    lines.append(case.text)
    if case.result == "pred":
        lines.append(f"selp.u32 %t, 1, 0, %d; st.global.u32 [%q{len(names)}], %t;")
    else:
        lines.append(f"st.global.{case.result} [%q{len(names)}], %d;")
    declared = [(name, register(kind)) for name, kind in zip(names, case.operands, strict=True)]
    registers = " ".join(f".reg .{kind} {name};" for name, kind in [*declared, ("%d", register(case.result))])
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k({parameters})
{{
  .reg .pred %p; .reg .b32 %i, %n, %t; .reg .b64 %o; .reg .f32 %f; .reg .b64 %q<{len(names) + 1}>;
  {registers}
  {chr(10).join(lines)}
  ret;
}}"""


def values(kind, seed):
    """Random bits, small numbers, and those at the ends of the type."""
    generator = np.random.default_rng(seed)
    if kind == "pred":
        return generator.integers(0, 2, THREADS, "u4")
    width = bits(kind)
    raw = generator.integers(0, 1 << width, THREADS, f"u{width // 8}", endpoint=False)
    few = generator.integers(-3, 70, THREADS).astype(f"i{width // 8}").view(raw.dtype)
    ends = np.array([0, 1, -1, 1 << width - 2, (1 << width - 1) - 1, -(1 << width - 1)]).astype(raw.dtype)
    if kind[0] == "f":
        numbers = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-310 if width == 64 else 1e-40]
        few = generator.choice(np.array(numbers, dtype(kind)), THREADS).view(raw.dtype)
    chosen = generator.integers(0, 3, THREADS)
    return np.choose(chosen, [raw, few, generator.choice(ends, THREADS)]).astype(raw.dtype).view(dtype(kind))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.text.replace(" ", "_"), marks=[pytest.mark.slow] * (case not in QUICK))
        for case in CASES
    ],
)
def test_an_instruction_computes_what_the_specification_says(case):
    kernel = ptx_on_cpu.Module(kernel_of(case)).kernel("k")
    arrays = [values(kind, seed) for seed, kind in enumerate(case.operands)]
    found = np.zeros(THREADS, dtype(case.result))
    kernel.launch((THREADS // 32, 1, 1), (32, 1, 1), [*arrays, found])
    mask = (1 << bits(case.result)) - 1
    for i, operands in enumerate(zip(*(array.tolist() for array in arrays), strict=True)):
        wanted = int(case.oracle(*operands)) & mask
        assert int(found[i]) & mask == wanted, (case.text, operands, hex(int(found[i]) & mask), hex(wanted))
