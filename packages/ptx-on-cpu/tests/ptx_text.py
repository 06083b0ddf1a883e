"""PTX by hand: a kernel around a few instructions."""

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def module(*parts):
    """A module of these functions and variables."""
    return HEADER + "\n".join(parts)


def kernel(body, params="", name="k"):
    """A kernel with the registers that tests use, and these instructions."""
    return f"""
.visible .entry {name}({params})
{{
    .reg .pred %p<8>;
    .reg .b16 %h<8>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<16>;
    .reg .f32 %f<8>;
    {body}
    ret;
}}
"""


def parameters(*names):
    """The list of parameters that are pointers."""
    return ", ".join(f".param .u64 {name}" for name in names)


# Each thread's number in its grid is in %r1, the address of its element of 4 bytes of y in %rd2.
PLACE = """
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.s32 %r1, %r3, %r4, %r2;
    ld.param.u64 %rd1, [y];
    mul.wide.s32 %rd3, %r1, 4;
    add.s64 %rd2, %rd1, %rd3;
"""
