"""Make a derivative by Enzyme, in a separate process: `python child.py FILE`, LLVM's text in and out.

Enzyme aborts where it meets what it cannot follow. This runs under a Python that has the package enzyme-ad,
and imports nothing else: neither JAX, which that package needs for the rest of it, nor `ffi_bridge`.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any


def load() -> Any:
    """Return the compiler in enzyme-ad, without the package around it."""
    package = importlib.util.find_spec("enzyme_ad")
    if package is None or not package.submodule_search_locations:
        sys.exit("error: Enzyme: this Python has no package enzyme-ad")
    # The package itself imports JAX; its compiler is an extension module that does not.
    library = Path(package.submodule_search_locations[0]) / "jax" / "enzyme_call.so"
    spec = importlib.util.spec_from_file_location("enzyme_call", library)
    if spec is None or spec.loader is None or not library.is_file():
        sys.exit(f"error: Enzyme: this enzyme-ad has no {library.name}; install version 0.0.16")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(file: Path) -> None:
    """Compile the module in a file, and write the result there."""
    enzyme = load()
    # One output, where the function finds the address of its table, and an input that nothing reads.
    buffer, arguments, language = [("double", [1])], [], enzyme.Language.LLVM
    enzyme.compile_to_llvm(str(file), file.read_text(), "f", buffer, buffer, arguments, language, False, "")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
