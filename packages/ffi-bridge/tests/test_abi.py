"""The offsets and codes in abi.py are those of the installed jaxlib's header."""

import shutil
import subprocess

import jax.ffi
import pytest

from ffi_bridge import abi

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def expectations() -> dict[str, int]:
    expected: dict[str, int] = {}
    for struct, fields in abi.OFFSETS.items():
        for field, offset in fields.items():
            expected[f"offsetof({struct}, {field})"] = offset
    for struct, size in abi.SIZES.items():
        expected[f"sizeof({struct})"] = size
    expected.update(abi.CODES)
    expected.update(
        {f"XLA_FFI_DataType_{name}": code for name, code in (abi.DTYPES | abi.HALF_DTYPES).values()}
    )
    return expected


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_every_number_is_the_headers(tmp_path):
    expected = expectations()
    prints = "\n".join(f'printf("%ld\\n", (long)({expression}));' for expression in expected)
    header = '#include <stddef.h>\n#include <stdio.h>\n#include "xla/ffi/api/c_api.h"\n'
    source = header + "int main(void) {\n" + prints + "\nreturn 0; }\n"
    # Jaxlibs before API 0.5 call the extension struct by its old name.
    old = {"XLA_FFI_InternalExtension": "XLA_FFI_Extension_Base"}
    text = (tmp_path / "x").with_suffix(".c")
    for names in ({}, old):
        for new, previous in names.items():
            source = source.replace(new, previous)
        text.write_text(source)
        built = subprocess.run(
            [COMPILER, "-I", jax.ffi.include_dir(), str(text), "-o", str(tmp_path / "x")],
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode == 0:
            break
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([tmp_path / "x"], capture_output=True, text=True, check=True).stdout
    assert dict(zip(expected, map(int, printed.split()), strict=True)) == expected


def test_platform_is_64_bit():
    abi.check_platform()
