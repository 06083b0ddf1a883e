"""Kinds of instructions, by opcodes that compilers made."""

import pytest

from ptx_on_cpu.counters import kind_of


@pytest.mark.parametrize(
    ("kind", "opcodes"),
    {
        "memory.global": "ld.global.nc.v4.f32 st.global.u8 ld.volatile.global.u32 ldu.global.f64",
        "memory.shared": "ld.shared.f32 st.volatile.shared.u64 st.shared::cta.b32",
        "memory.local": "ld.local.f32 st.local.v2.b32",
        "memory.param": "ld.param.u64 st.param.b64 ld.param::entry.u32",
        "memory.const": "ld.const.f64",
        "memory.generic": "ld.f32 st.u32 ld.volatile.u64",
        "atomic": "atom.global.add.f32 red.shared.max.s32 atom.cas.b32",
        "integer": "add.s64 mad.lo.s32 mul.wide.u32 setp.lt.s32 and.pred popc.b32 div.s32 rem.u64 lop3.b32",
        "fp16": "fma.rn.f16x2 add.bf16 neg.f16",
        "fp32": "add.f32 fma.rn.ftz.f32 setp.gt.f32 set.lt.u32.f32 max.f32",
        "fp64": "mul.rn.f64 fma.rn.f64 abs.f64 setp.nan.f64 set.gt.f32.f64",
        "special": "sin.approx.f32 ex2.approx.ftz.f32 rcp.rn.f64 sqrt.rn.f32 div.rn.f32 div.full.f32",
        "conversion": "cvt.rn.f32.s32 cvta.to.global.u64",
        "move": "mov.u32 selp.f32 prmt.b32",
        "control": "bra bra.uni ret exit call.uni trap brx.idx",
        "barrier": "bar.sync barrier.sync membar.gl fence.acq_rel.gpu",
        "exchange": "shfl.sync.bfly.b32 vote.sync.ballot.b32 match.any.sync.b32 redux.sync.add.s32",
        "tensor": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    }.items(),
)
def test_an_opcode_has_its_kind(kind: str, opcodes: str) -> None:
    assert {opcode: kind_of(opcode) for opcode in opcodes.split()} == dict.fromkeys(opcodes.split(), kind)
