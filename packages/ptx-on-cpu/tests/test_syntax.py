"""PTX is read as it is written: variables, labels, lines, vectors, calls; what is no PTX is refused."""

import pytest
from ptx_text import HEADER, kernel, module, parameters

from ptx_on_cpu import Module, PtxSyntaxError, UnsupportedError
from ptx_on_cpu.engine.grid import blocks_are_independent
from ptx_on_cpu.flow import Flow
from ptx_on_cpu.syntax.inline import inlined
from ptx_on_cpu.syntax.parse import parse
from ptx_on_cpu.syntax.program import literal, readable

TWICE = """
.func (.param .b32 result) twice(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
"""
CALL = """
    { .param .b32 a; .param .b32 b;
    st.param.b32 [a], 21;
    call.uni (b), twice, (a);
    ld.param.b32 %r1, [b]; }
"""


def only(text, name="k"):
    return parse(text).functions[name]


def test_text_that_is_no_ptx_is_refused():
    with pytest.raises(PtxSyntaxError, match=r"begins with \.version"):
        Module("int main() {}")
    with pytest.raises(PtxSyntaxError, match="brace"):
        Module(HEADER + ".visible .entry k() { ret;")


def test_a_branch_to_a_label_that_the_text_lacks_is_refused():
    with pytest.raises(PtxSyntaxError, match=r"k branches to \$L__BB0_5, .*compile without"):
        Module(HEADER + kernel("@%p1 bra $L__BB0_5;")).kernel("k")


def test_instructions_know_their_line_and_guard():
    text = (
        HEADER
        + '.file 1 "/some/where/scale.py"\n'
        + kernel(
            ".loc 1 12 3\n @!%p1 add.f32 %f1, %f2, 0f3F800000; // why\n"
            ".loc 1 13 1, function_name $x, inlined_at 1 9 2\n"
            "ld.global.v2.f32 {%f1, %f2}, [%rd1+8]; /* a comment */"
        )
    )
    add, load, _ = only(text).body
    assert (add.guard, add.opcode, add.line) == ("!%p1", "add.f32", "scale.py:12")
    assert (load.operands, load.line) == (("<%f1, %f2>", "[%rd1+8]"), "scale.py:13")


def test_variables_have_space_size_alignment_and_content():
    program = parse(
        module(
            ".extern .shared .align 16 .b8 dynamic[];",
            ".const .align 8 .f32 table[2] = {0f3F800000, 0f40000000};",
            ".global .align 4 .v4 .f32 vector;",
            kernel(".shared .align 4 .b8 tile[64];"),
        )
    )
    found = {v.name: (v.space, v.size, v.align) for v in program.variables}
    assert found == {"dynamic": ("shared", 0, 16), "table": ("const", 8, 8), "vector": ("global", 16, 4)}
    assert program.variables[1].content == ["0f3F800000", "0f40000000"]
    assert [(v.name, v.size) for v in program.functions["k"].variables] == [("tile", 64)]


CONSTANTS = [
    ("-1", 16, 0xFFFF),
    ("0xFFu", 32, None),
    ("0xFFU", 32, 255),
    ("010", 32, 8),
    ("0b101", 32, 5),
    ("0f3FC00000", 32, 0x3FC00000),
    ("0f3FC00000", 64, None),
    ("0d3FF8000000000000", 64, 0x3FF8 << 48),
    ("0d3FF8000000000000", 32, 0x3FC00000),
    ("0d4090000000000000", 16, None),
    ("-1.5", 32, 0xBFC00000),
    ("1e400", 32, 0x7F800000),
    ("1.5", 64, 0x3FF8 << 48),
]


def test_constants_have_the_bits_of_what_they_are_written_for():
    assert [literal(text, bits) for text, bits, _ in CONSTANTS] == [value for *_, value in CONSTANTS]


def test_a_call_becomes_the_body_of_its_function():
    program = parse(module(TWICE, kernel(CALL)))
    whole = inlined(program.functions["k"], program.functions, ())
    assert "call" not in {each.name for each in whole.body}
    assert [each.name for each in whole.body] == ["st", "ld", "add", "st", "bra", "ld", "ret"]


def test_calls_that_cannot_be_inlined_are_refused_by_name():
    again = TWICE.replace("ret;", "call.uni (result), twice, (x); ret;")
    with pytest.raises(UnsupportedError, match="'twice' calls itself"):
        Module(module(again, kernel(CALL))).kernel("k")
    with pytest.raises(UnsupportedError, match="'twice', which is in no module"):
        Module(module(kernel(CALL))).kernel("k")
    with pytest.raises(UnsupportedError, match="by its address"):
        Module(module(kernel("call (), %rd1, ();"))).kernel("k")


@pytest.mark.parametrize(
    ("instruction", "said"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 %f1, %f2, %f3, %f4;", "mma.sync.aligned"),
        ("mov.u32 %r1, %envreg3;", "%envreg3"),
    ],
)
def test_what_no_cpu_runs_is_refused_by_name(instruction, said):
    with pytest.raises(UnsupportedError, match=f"kernel 'k' has .*{said}"):
        Module(module(kernel(instruction))).kernel("k")


REFUSED = {
    "ld.param.u64 %rd1, [y+8];": r"an access to 8 bytes at \[y\+8\]",
    "mov.u32 %r1, 3+4;": r"the constant 3\+4",
    "add.f64 %rd1, %rd1, 0f3F800000;": "the constant 0f3F800000 as a number of 64 bits",
    # Of later versions of PTX.
    "add.rn.f32x2 %rd1, %rd2, %rd3;": "add.rn.f32x2",
    "add.rn.f32.f16 %f1, %h1, %f2;": "add.rn.f32.f16",
    "fma.rn.oob.f16 %h1, %h1, %h2, %h3;": "fma.rn.oob.f16",
    "add.sat.u16x2 %r1, %r2, %r3;": "add.sat.u16x2",
    "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r3;": "cvt.rs.f16x2.f32",
    "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;": "e2m1x2",
}


def test_what_would_be_computed_wrongly_is_refused_by_name():
    for instruction, said in REFUSED.items():
        with pytest.raises(UnsupportedError, match=f"kernel 'k' has .*{said}"):
            Module(module(kernel(instruction, parameters("y")))).kernel("k")


LOOPS = """
    mov.u32 %r1, 0;
outer:
    mov.u32 %r2, 0;
inner:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 3;
    @%p1 bra inner;
    add.u32 %r1, %r1, %r2;
    setp.lt.u32 %p2, %r1, 9;
    @%p2 bra outer;
"""


def test_loops_are_nested_and_registers_live_where_they_are_read_later():
    flow = Flow.of(only(module(kernel(LOOPS))))
    assert flow.loops == {1: {1, 2, 3}, 2: {2}}
    assert flow.backward_edges == {(2, 2), (3, 1)}
    assert flow.live_into(2) == ["%r1", "%r2"]
    assert flow.live_after(6) == ["%p2", "%r1"]


MIDDLE = "bra test; body: add.u32 %r1, %r1, 1; test: setp.lt.u32 %p1, %r1, 9; @%p1 bra body;"


def test_a_loop_that_is_entered_in_its_middle_is_found():
    flow = Flow.of(only(module(kernel(MIDDLE))))
    assert [len(blocks) for blocks in flow.loops.values()] == [2]


@pytest.mark.parametrize(
    ("instruction", "independent"),
    [
        ("red.global.add.u32 [%rd1], 1;", True),
        ("red.global.add.f32 [%rd1], 0f3F800000;", False),
        ("atom.global.add.u32 %r1, [%rd1], 1;", False),
        ("atom.shared.add.u32 %r1, [%rd1], 1;", True),
        ("ld.volatile.global.u32 %r1, [%rd1];", False),
        ("red.global.inc.u32 [%rd1], 5;", False),
    ],
)
def test_blocks_are_independent_unless_they_talk(instruction, independent):
    assert blocks_are_independent(only(module(kernel(instruction)))) is independent


def test_names_of_kernels_are_readable():
    assert readable("_ZN4demo10csr_matvecB2v1B106cw51cE5ArrayIfE") == "csr_matvec"
    assert readable("_Z3addPf") == "add"
    assert readable("scale_3f2a_cuda_kernel_forward") == "scale_3f2a_cuda_kernel_forward"


def test_a_kernel_that_is_not_there_is_named_beside_those_that_are():
    with pytest.raises(Exception, match="no kernel 'other'; its kernels: k"):
        Module(module(kernel("", parameters("y")))).kernel("other")


def test_a_line_is_that_of_the_call_where_a_header_is_inlined():
    ptx = """.version 8.0
.target sm_90
.address_size 64
.file 1 "/a/mine.py"
.file 2 "/a/array.h"
.visible .entry f()
{
.loc 1 7 5
.loc 2 20 3, function_name $L__info_string0, inlined_at 1 7 5
.loc 2 30 3, function_name $L__info_string1, inlined_at 2 20 3
    bar.sync 0;
.loc 1 8 1
    ret;
}
"""
    assert [each.line for each in Module(ptx).kernel("f").instructions] == ["mine.py:7", "mine.py:8"]
