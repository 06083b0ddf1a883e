"""Make a derivative by Enzyme, in a process of its own: `python child.py FILE`, LLVM's text in and out.

Enzyme aborts where it meets what it cannot follow. This runs under a Python that has the package enzyme-ad,
and imports nothing else: neither JAX, which that package needs for the rest of it, nor `ffi_bridge`.
"""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path


def find_library():
    """Return the path of the library with the compiler."""
    package = importlib.util.find_spec("enzyme_ad")
    if package is None:
        sys.exit("error: Enzyme: this Python has no package enzyme-ad")
    return Path(package.submodule_search_locations[0]) / "jax" / "enzyme_call.so"


def load(path):
    """Return the library as a module, without the package around it."""
    loader = importlib.machinery.ExtensionFileLoader("enzyme_call", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("enzyme_call", loader))
    loader.exec_module(module)
    return module


def main(file):
    """Compile the module in a file, and write the result there."""
    enzyme = load(find_library())
    # One output, where the function finds the address of its table, and an input that nothing reads.
    buffer, arguments, language = [("double", [1])], [], enzyme.Language.LLVM
    enzyme.compile_to_llvm(str(file), file.read_text(), "f", buffer, buffer, arguments, language, False, "")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
