"""Resources of kernels, as ptxas and as machine code tell them."""

import subprocess
import sys
from pathlib import Path

import pytest

from ptx_on_cpu.counters import Resources, resources, resources_of
from ptx_on_cpu.counters import kernel_resources as assembler

CAPABILITIES = [(8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]


def _ptx(body: str, entry: str, declared: str = "") -> str:
    return f"""
{declared}
.visible .entry {entry}(.param .u64 place)
{{
    .reg .b64 %a<9>;
    .reg .b32 %r<300>;
    .reg .f32 %f<300>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %a0, [place];
    cvta.to.global.u64 %a0, %a0;
    mul.wide.u32 %a1, %r0, 4;
    add.u64 %a2, %a0, %a1;
{body}
    ret;
}}
"""


# An index that is not known at compile time, through the stack; a round trip through shared memory; values
# that live at once: more than 24 registers hold.
STACK = """
    .local .align 4 .b8 there[128];
    mov.u64 %a3, there;
    add.u64 %a4, %a3, %a1;
    st.local.u32 [%a4], %r0;
    ld.global.u32 %r1, [%a2];
    mul.wide.u32 %a5, %r1, 4;
    add.u64 %a6, %a3, %a5;
    ld.local.u32 %r2, [%a6];
    st.global.u32 [%a2], %r2;
"""
SHARED = """
    mov.u32 %r1, tile;
    mad.lo.u32 %r2, %r0, 4, %r1;
    st.shared.u32 [%r2], %r0;
    bar.sync 0;
    ld.shared.u32 %r3, [%r2+4];
    st.global.u32 [%a2], %r3;
"""
MANY = "\n".join(
    [f"    ld.volatile.global.f32 %f{i}, [%a2+{4 * i}];" for i in range(64)]
    + [f"    st.volatile.global.f32 [%a2+{4 * i}], %f{63 - i};" for i in range(64)]
)
HEADER = ".version 8.7\n.target sm_80\n.address_size 64\n"
KERNELS = (
    HEADER
    + _ptx(STACK, "stack")
    + _ptx(SHARED, "shared", ".shared .align 4 .b8 tile[520];")
    + _ptx(MANY, "many")
    + _ptx(MANY, "spilling").replace("(.param .u64 place)", "(.param .u64 place)\n.maxnreg 24")
)


@pytest.fixture(scope="module")
def ptxas() -> str:
    try:
        return assembler._ptxas()
    except FileNotFoundError:
        pytest.skip("ptxas is not installed")


@pytest.fixture(params=CAPABILITIES, ids=lambda capability: "sm_{}{}".format(*capability))
def capability(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


def test_ptxas_tells_what_kernels_take(ptxas: str, capability: tuple[int, int]) -> None:
    found = resources(KERNELS, capability)
    assert sorted(found) == ["many", "shared", "spilling", "stack"]
    assert (found["stack"].local, found["stack"].shared) == (128, 0)
    assert (found["shared"].local, found["shared"].shared) == (0, 520)
    assert 64 <= found["many"].registers <= 255 and found["many"].spill_stores == 0
    spilling = found["spilling"]
    assert spilling.registers <= 24 and spilling.local >= 4 * 40
    assert spilling.spill_stores and spilling.spill_loads and spilling.spill_stores >= 4 * 40


def test_machine_code_tells_the_same_without_the_spills(
    ptxas: str, capability: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "x.ptx").write_text(KERNELS)
    arch = "sm_{}{}".format(*capability)
    subprocess.run([ptxas, f"-arch={arch}", "x.ptx", "-o", "x.cubin"], cwd=tmp_path, check=True)
    cubin = (tmp_path / "x.cubin").read_bytes()
    for entry, told in resources(KERNELS, capability).items():
        expected = Resources(told.registers, told.shared, told.local)
        assert resources_of(cubin, entry) == expected, entry


def test_a_function_that_is_called_counts_for_its_kernel(ptxas: str) -> None:
    called = """
.func (.reg .f32 found) called(.reg .u64 place)
{
    .local .align 4 .b8 there[40];
    .reg .b64 %a<9>;
    .reg .b32 %r<9>;
    ld.global.u32 %r1, [place];
    mul.wide.u32 %a1, %r1, 4;
    mov.u64 %a2, there;
    add.u64 %a3, %a2, %a1;
    st.local.u32 [%a3], %r1;
    ld.local.f32 found, [there+4];
    ret;
}"""
    call = """
    mov.u64 %a7, called;
    kind: .callprototype (.reg .f32 _) _ (.reg .u64 _);
    call (%f1), %a7, (%a0), kind;
    st.global.f32 [%a0], %f1;
"""
    found = resources(HEADER + _ptx(STACK + call, "calling", called))["calling"]
    assert found.local >= 128 + 40  # the stack of both
    assert found.spill_stores and found.spill_loads  # of the function, which keeps what the kernel has


def test_what_ptxas_refuses_is_told_in_its_words(ptxas: str) -> None:
    with pytest.raises(ValueError, match=r"(?s)ptxas does not take this PTX for sm_90; .*frobnicate"):
        resources(HEADER + _ptx("    frobnicate.b32 %r1, %r2;", "unknown"))


def test_the_error_without_ptxas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="pip install nvidia-cuda-nvcc-cu12"):
        resources(KERNELS)


@pytest.mark.parametrize("folder", ["cu13/bin", "cuda_nvcc/bin"])
def test_ptxas_is_found_in_the_wheels_of_each_cuda(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia" / folder / "ptxas"
    program.parent.mkdir(parents=True)
    (tmp_path / "nvidia/__init__.py").touch()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    assert assembler._ptxas() == str(program)


def test_only_a_cubin_has_resources() -> None:
    with pytest.raises(ValueError, match=r"a cubin is an ELF file, but the given bytes begin with b'\.ver'"):
        resources_of(KERNELS.strip().encode(), "many")
