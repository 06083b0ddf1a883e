"""Build small libraries of C and C++ with the compiler of this machine."""

import shutil
import subprocess

import pytest

COMPILERS = {
    "c": shutil.which("cc") or shutil.which("gcc") or shutil.which("clang"),
    "cc": shutil.which("c++") or shutil.which("g++") or shutil.which("clang++"),
}


def needs_compiler(language):
    """Skip a test, or a file of tests, where there is no compiler."""
    return pytest.mark.skipif(COMPILERS[language] is None, reason=f"no compiler of .{language} here")


def library(path, source, *options, language="c"):
    """Build `source` as the shared library `path`, in place of what was there."""
    text = path.with_suffix(f".{language}")
    text.write_text(source)
    path.unlink(missing_ok=True)  # to write into a library that is in use would change it there
    built = subprocess.run(
        [COMPILERS[language], "-shared", "-fPIC", *options, str(text), "-o", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return path
