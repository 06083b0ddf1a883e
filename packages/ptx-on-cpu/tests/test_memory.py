"""Parameters by their address, vectors, copies, carries, and the shared memory of device functions."""

import numpy as np
import pytest
from ptx_text import PLACE, kernel, module, parameters

from ptx_on_cpu import Checks, LaunchError, Module

Y = parameters("y")


def launched(text, threads, y, checks=None):
    return Module(text).kernel("k", checks).launch((1,), (threads,), [y])


VECTOR_INTO_ITS_ADDRESS = """
    setp.eq.u32 %p1, %r2, 0;
    @!%p1 st.global.u64 [%rd1+8], %rd3;
    @%p1 ld.global.v2.u64 {%rd1, %rd3}, [%rd1];
"""


def test_a_race_is_found_where_a_vector_is_loaded_into_the_register_of_its_address():
    y = np.zeros(2, np.uint64)
    with pytest.raises(LaunchError, match="race at byte 8 of argument 0"):
        launched(module(kernel(PLACE + VECTOR_INTO_ITS_ADDRESS, Y)), 2, y, checks=Checks(races=True))


COPY = """
    mov.u32 %r5, tile;
    mov.u32 %r6, {wanted};
    setp.ne.u32 %p1, %r6, 0;
    cp.async.ca.shared.global [%r5], [%rd1+16], 16, {how};
    cp.async.wait_all;
    ld.shared.v4.u32 {{%r7, %r8, %r9, %r10}}, [%r5];
    st.global.v4.u32 [%rd1], {{%r7, %r8, %r9, %r10}};
"""


def test_a_copy_reads_as_many_bytes_as_are_asked_for():
    tile, checks = ".shared .align 16 .b8 tile[16];", Checks(initialised=True, races=True)
    for how, wanted, copied in (("%r6", 8, [5, 6, 0, 0]), ("%p1", 1, [0, 0, 0, 0])):
        y = np.arange(1, 7, dtype=np.uint32)
        launched(module(tile, kernel(PLACE + COPY.format(how=how, wanted=wanted), Y)), 1, y, checks)
        np.testing.assert_array_equal(y[:4], copied)
    for how, wanted in (("!%p1", 1), ("%r6", 1 << 30)):  # 16 bytes, of which the array has 8
        text = module(tile, kernel(PLACE + COPY.format(how=how, wanted=wanted), Y))
        with pytest.raises(LaunchError, match="16 bytes out of bounds, at byte 16 of argument 0"):
            launched(text, 1, np.zeros(6, np.uint32), checks)


SECOND = """
.func (.param .b32 result) second(.param .align 4 .b8 x[8])
{
    .reg .b32 %r<2>;
    .reg .b64 %a;
    mov.b64 %a, x;
    ld.param.u32 %r1, [%a+4];
    st.param.b32 [result], %r1;
    ret;
}
"""
BY_ADDRESS = """
    { .param .b32 a; .param .align 4 .b8 b[8];
    st.param.b32 [b], 5;
    st.param.b32 [b+4], 6;
    call.uni (a), second, (b);
    ld.param.b32 %r1, [a]; }
    mov.b64 %rd1, y;
    ld.param.u64 %rd2, [%rd1+OFFSET];
    st.global.u32 [%rd2], %r1;
"""


def test_parameters_are_read_by_their_address():
    y = np.zeros(1, np.int32)
    launched(module(SECOND, kernel(BY_ADDRESS.replace("OFFSET", "0"), Y)), 1, y)
    assert y[0] == 6
    with pytest.raises(LaunchError, match="at byte 4096 of the parameters"):
        launched(module(SECOND, kernel(BY_ADDRESS.replace("OFFSET", "4096"), Y)), 1, y)


CARRIED = """
    add.cc.u32 %r5, -1, 1;
    bar.sync 0;
    addc.u32 %r6, 0, 0;
    st.global.u32 [%rd2], %r6;
"""


def test_a_thread_that_waits_keeps_its_carry():
    y = np.zeros(32, np.int32)
    launched(module(kernel(PLACE + CARRIED, Y)), 32, y)
    np.testing.assert_array_equal(y, 1)


KEEP = """
.func (.param .b32 result) exchanged(.param .b32 x0)
{
    .reg .b32 %r<3>;
    .shared .align 4 .u32 kept;
    ld.shared.u32 %r2, [kept];
    ld.param.u32 %r1, [x0];
    st.shared.u32 [kept], %r1;
    add.u32 %r2, %r2, 0x0;
    st.param.b32 [result], %r2;
    ret;
}
.func (.param .b32 result) through(.param .b32 x0)
{
    .reg .b32 %r<3>;
    .shared .align 4 .u32 kept;
    ld.param.u32 %r1, [x0];
    st.shared.u32 [kept], 1000;
    { .param .b32 a; .param .b32 b;
    st.param.b32 [b], %r1;
    call.uni (a), exchanged, (b);
    ld.param.b32 %r2, [a]; }
    st.param.b32 [result], %r2;
    ret;
}
"""
CALL = """
    {{ .param .b32 a; .param .b32 b;
    st.param.b32 [b], {given};
    call.uni (a), {function}, (b);
    ld.param.b32 %r1, [a]; }}
    st.global.u32 [%rd1+{at}], %r1;
"""


def test_calls_of_a_function_have_its_shared_memory_in_common():
    functions = ["exchanged", "through", "exchanged"]
    calls = [CALL.format(given=i + 5, function=name, at=4 * i) for i, name in enumerate(functions)]
    y = np.zeros(3, np.int32)
    launched(module(KEEP, kernel("ld.param.u64 %rd1, [y];" + "".join(calls), Y)), 1, y)
    np.testing.assert_array_equal(y[1:], [5, 6])
