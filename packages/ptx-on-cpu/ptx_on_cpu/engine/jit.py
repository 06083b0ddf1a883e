"""Turn LLVM's text into machine code of this machine, once: object files are kept where a caller says."""

import functools
import hashlib
from collections.abc import MutableMapping
from typing import Any, Final

from llvmlite import binding as llvm

# Kernels that are tested run for less time than better code would take to compile.
OPTIMISATION: Final = 0
_SYMBOL: Final = "run"


class Code:
    """Machine code, and the address of its function `run`."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine  # keeps the code in memory
        self.run: int = engine.get_function_address(_SYMBOL)


def compiled(text: str, objects: MutableMapping[str, bytes] | None) -> Code:
    """Compile LLVM's text, or take its object file from `objects`, where it is put otherwise."""
    if objects is None:
        return _loaded(_object(text))
    key = hashlib.sha256("\n".join([*_circumstances(), text]).encode()).hexdigest()
    if (code := objects.get(key)) is None:
        objects[key] = code = _object(text)
    return _loaded(code)


@functools.cache
def _circumstances() -> tuple[str, ...]:
    """Return the circumstances that machine code depends on beside its text."""
    features = llvm.get_host_cpu_features().flatten()
    return str(llvm.llvm_version_info), llvm.get_host_cpu_name(), features, str(OPTIMISATION)


@functools.cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Code calls `tanhf` and its kin by name, and LLVM looks for them among loaded libraries.
    llvm.load_library_permanently("libm.so.6")
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=OPTIMISATION,
        # An object file may be loaded at any address.
        reloc="pic",
        jit=True,
    )


def _object(text: str) -> bytes:
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def _loaded(code: bytes) -> Code:
    _machine()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(engine)
