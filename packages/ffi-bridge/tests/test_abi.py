"""The offsets and codes in abi.py are those of the installed jaxlib's header."""

import shutil
import subprocess

import jax.ffi
import pytest

from ffi_bridge import abi
from ffi_bridge.errors import UnknownAPIWarning, UnsupportedPlatformError
from ffi_bridge.targets import ensure_target, targets

pytestmark = pytest.mark.promise(7)

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


def header(major, minor):
    return f"// ...\n#define XLA_FFI_API_MAJOR {major}\n#define XLA_FFI_API_MINOR {minor}\n"


def test_this_platform_is_known():
    abi.check_platform.__wrapped__()


@pytest.mark.parametrize("bits", [32, 128])
def test_other_pointers_are_refused(bits, monkeypatch):
    monkeypatch.setattr("struct.calcsize", lambda format: bits // 8)
    with pytest.raises(UnsupportedPlatformError, match=f"this Python has {bits}-bit ones"):
        abi.check_platform.__wrapped__()


def test_the_header_of_the_installed_jaxlib_is_looked_at_where_it_has_one(monkeypatch, tmp_path):
    monkeypatch.setattr("jax.ffi.include_dir", lambda: str(tmp_path))
    abi.check_platform.__wrapped__()
    file = tmp_path / "xla/ffi/api/c_api.h"
    file.parent.mkdir(parents=True)
    file.write_text(header(1, 0))
    with pytest.raises(UnsupportedPlatformError, match=r"has XLA FFI 1\.0"):
        abi.check_platform.__wrapped__()


MAJOR = "#define XLA_FFI_API_MAJOR 7\n"
UNCLEAR = ["", "#define XLA_FFI_API_MINOR x", MAJOR, 3 * MAJOR]


@pytest.mark.parametrize("known", [header(0, 1), header(*abi.COMPARED), *UNCLEAR])
def test_versions_that_were_compared_say_nothing(known):
    abi.check_version(known)


def test_a_newer_minor_version_is_warned_of():
    with pytest.warns(UnknownAPIWarning, match=r"has XLA FFI 0\.6.*compared with XLA FFI 0\.5") as seen:
        abi.check_version(header(0, 6))
    assert seen[0].filename == __file__


def test_another_major_version_is_refused():
    with pytest.raises(UnsupportedPlatformError, match=r"has XLA FFI 1\.0.*install a newer ffi-bridge"):
        abi.check_version(header(1, 0))


def test_nothing_is_registered_where_the_structs_are_unknown(monkeypatch):
    def refuse():
        raise UnsupportedPlatformError("unknown")

    monkeypatch.setattr("ffi_bridge.targets.check_platform", refuse)
    with pytest.raises(UnsupportedPlatformError, match="unknown"):
        ensure_target("never", lambda: (0, None), platform="cpu")
    assert "never" not in targets()


def test_a_name_is_registered_on_each_platform_that_asks(monkeypatch):
    """A kernel of Warp has one name on a GPU and on an emulated one, which is JAX's CPU."""
    registered = []
    monkeypatch.setattr("jax.ffi.register_ffi_target", lambda name, _, platform: registered.append(platform))
    monkeypatch.setattr("ffi_bridge.targets._targets", {})
    for platform in ("CUDA", "cpu", "CUDA"):
        ensure_target("on_both", lambda: (0x1000, None), platform=platform)
    assert registered == ["CUDA", "cpu"]
