"""Make the machine code of a derivative: from Numba's text by Enzyme's to a kernel that calls it."""

import contextlib
import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numba
import numpy as np
from llvmlite import binding as llvm
from numba import types

from ffi_bridge.errors import MissingRuleError
from ffi_bridge.identity.callees import compiled_apart, compiled_callees
from ffi_bridge.numba_cpu import internals
from ffi_bridge.numba_cpu.compiler import Compiler, with_constants
from ffi_bridge.numba_cpu.derivatives import enzyme
from ffi_bridge.numba_cpu.derivatives.bits import Bits
from ffi_bridge.numba_cpu.derivatives.emission import plain_indices, typed_copies
from ffi_bridge.numba_cpu.derivatives.entry import Slot, entry_text
from ffi_bridge.numba_cpu.derivatives.enzyme import Lines, debug_information
from ffi_bridge.numba_cpu.derivatives.from_enzyme import from_enzyme, released_at_the_end
from ffi_bridge.numba_cpu.derivatives.kernels import calling
from ffi_bridge.numba_cpu.derivatives.llvm_rewrite import (
    RECORDS,
    STRINGS,
    declared_in,
    for_enzyme,
    one_function,
    reached,
    refused_in,
)
from ffi_bridge.numba_cpu.derivatives.mode import FORWARD, REVERSE, Buffer, Mode
from ffi_bridge.targets import target_name

# What Enzyme knows of C's mathematics; also for numbers of 32 bits.
_MATHEMATICS: Final = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp2?|expm1|log(2|10|1p)?|sqrt|cbrt|pow|hypot|erfc?|fabs|floor|ceil|"
    r"trunc|f?round|rint|nearbyint|fmod|fmin|fmax|fma|copysign)f?|malloc|free|memcpy|memset|memmove|"
    "ffi_bridge_(index|keep|fail_if)"
)
_FORMS_OF_REVERSE: Final = [(False, False), (False, True), (True, True)]  # counted, decided at run time
_BY_ADDRESS: Final = "a C function or a large array by its address"
_BITS: Final = "the bits of floating-point numbers as integers, and makes floats of them again"
_FOUND_BY: Final = {
    _BY_ADDRESS: (re.escape(internals.ADDRESS), ""),
    enzyme.BY_ADDRESS: (re.escape(internals.ADDRESS), ""),
    _BITS: ("", r"\.view\(|frombuffer|carray|farray"),
    enzyme.OF_OTHER_TYPES: ("", r"\.view\(|frombuffer|carray|farray"),
    STRINGS: (r" call [^\n(]*@\"?[^\n(]*(unicode|ol_str_generic)", ""),
    RECORDS: (r"getelementptr [^\n,]*\[\d+ x i8\], ptr %", ""),
}
_REFUSED: Final = re.compile(r"llvm\.(masked|vp)\..*")
_HINTS: Final = {
    r"numba_(xx|ez|cblas|raw_r)": "write products of matrices and linear algebra as loops",
    r"numba_(parallel_for|doscheduling)|get_num_threads": "call functions without parallel=True",
    r"records": "use an array for each field",
    r"NRT_|numba_(list|dict)|Py[A-Z]|unicode|strings": "use arrays, numbers and lists of known length in "
    "place of lists that grow, dicts, sets and strings",
    r"llvm\.masked": "write out what functions of NumPy do, as flatten, as loops",
    r"bits of|bytes for": "compute with the numbers themselves",
    r"rnd|random": "pass random numbers as an input",
    r"by its address": "write it as an @njit function, or pass the array as an input",
}


def to_compile(
    kernel: Any,
    primal: Any,
    buffers: Sequence[Buffer],
    mode: Mode,
    kinds: Sequence[types.Type],
    arguments: Sequence[types.Type],
    compared: bool,
) -> Any:
    """Return the dispatcher of a derivative, whose code Enzyme makes here.

    `kernel`: the derivative's placeholder; `primal`: the dispatcher that is differentiated; `kinds`: Numba's
    types of its buffers; `arguments`: those of all its parameters, constants too; `compared`: whether it is
    compared with others in its code. The caller holds the lock.
    """
    name = primal.__name__
    text, function = _text(primal, arguments)
    # Lines of the source take a second compilation, which only an error is worth.
    refuse = functools.partial(_refuse, name, lambda: Lines(*_text(primal, arguments, with_lines=True)))
    slots = [_slot(kind, buffer, buffers) for kind, buffer in zip(kinds, buffers, strict=True)]

    def made(mode: Mode) -> tuple[str, str]:
        derivative = _differentiated(name, text, function, slots, mode, refuse)
        if internals.ADDRESS in derivative:  # of the texts of exceptions, there are none by now
            refuse([_BY_ADDRESS])
        derivative = from_enzyme(derivative)
        _parse(name, derivative)
        digest = hashlib.blake2b(derivative.encode(), digest_size=8).hexdigest()
        called = target_name(kernel.__name__, "enzyme", digest)
        return called, released_at_the_end(derivative, called)

    functions = {"_derivative_": made(mode)}
    if compared and mode == REVERSE:
        with contextlib.suppress(MissingRuleError):  # some kernels have the reverse mode alone
            functions["_forward_"] = made(FORWARD)
    return calling(kernel, functions, primal)


def _differentiated(
    name: str,
    text: str,
    function: str,
    slots: Sequence[Slot],
    mode: Mode,
    refuse: Callable[[Sequence[str]], None],
) -> str:
    """Return Enzyme's text of the derivative, made in the quickest form that Enzyme can decide of.

    Least is kept for the way back without counts of references; with them Enzyme knows more of pointers. In
    a kernel that LLVM has simplified Enzyme may miss of what type the elements of an array are.
    """
    forms = [(True, False), (True, True)] if mode.opens == "out" else _FORMS_OF_REVERSE
    for simplified, (counted, at_run_time) in [*((True, x) for x in forms), *((False, x) for x in forms)]:
        whole = reached(text, function, counted)
        refuse([x for x in declared_in(whole) if not _is_known(x)] + refused_in(whole))
        entry = entry_text(function, slots, mode, at_run_time)
        plain = one_function(whole, function, simplified)
        bits = Bits(plain, entry)
        if simplified and bits.lost:
            refuse([_BITS])
        try:
            return enzyme.differentiated(for_enzyme(plain, bits.copies(function)) + entry, name)
        except MissingRuleError as error:
            is_last = (counted, at_run_time) == forms[-1]
            if not simplified and (is_last or not isinstance(error, enzyme.NotDecided)):
                refuse([x for x in (enzyme.BY_ADDRESS, enzyme.OF_OTHER_TYPES) if x in str(error)])
                raise
    # The last of the forms has returned or raised.
    raise AssertionError


def _text(primal: Any, arguments: Sequence[types.Type], with_lines: bool = False) -> tuple[str, str]:
    """Return LLVM's text of the kernel without parallel regions, and the name of its function.

    `with_lines`: with the lines of Python that its instructions are from.
    """
    serial: Any = primal
    if primal.targetoptions.get("parallel"):
        # Enzyme would have to follow the thread pool.
        options: dict[str, Any] = {**primal.targetoptions, "parallel": False}
        serial = numba.jit(**options, locals=primal.locals, pipeline_class=internals.pipeline_of(primal))(
            primal.py_func
        )
    pipeline = with_constants(internals.pipeline_of(serial))
    every = [serial, *compiled_callees(serial.py_func)]
    lines = debug_information(every) if with_lines else contextlib.nullcontext()
    with compiled_apart(serial), internals.unoptimised(), typed_copies(), plain_indices(), lines:
        compiled = Compiler(serial, serial.targetctx, False, pipeline).compile(tuple(arguments), None)
        return internals.text_of(compiled)


def _slot(kind: types.Type, buffer: Buffer, buffers: Sequence[Buffer]) -> Slot:
    begins = next((i for i, x in enumerate(buffers) if x.name == buffer.begins), None)
    passed = "" if isinstance(kind, types.Array) else internals.argument_type(kind)
    dtype = np.dtype(internals.as_dtype(kind.dtype if isinstance(kind, types.Array) else kind))
    return Slot(kind, dtype, passed, begins)


def _parse(kernel: str, text: str) -> None:
    """Raise MissingRuleError for text of Enzyme's LLVM that Numba's does not know."""
    try:
        llvm.parse_assembly(text)
    except RuntimeError as error:
        raise MissingRuleError(
            f"kernel '{kernel}': the LLVM of Numba {numba.__version__} cannot read what Enzyme made: "
            f"{error}; install the newest Numba and ffi-bridge"
        ) from error


def _is_known(function: str) -> bool:
    if function.startswith("llvm."):
        return not _REFUSED.fullmatch(function)
    return bool(_MATHEMATICS.fullmatch(function))


def _refuse(kernel: str, lines: Callable[[], Lines], unknown: Sequence[str]) -> None:
    """Raise MissingRuleError if a kernel uses something that Enzyme does not follow."""
    if not unknown:
        return
    hint = next(
        (hint for pattern, hint in _HINTS.items() if re.search(pattern, " ".join(unknown))),
        "write it with functions that have derivatives",
    )
    source_lines = lines()
    places = dict.fromkeys(filter(None, (source_lines.first(*_how_to_find(x)) for x in unknown)))
    raise MissingRuleError(
        f"kernel '{kernel}' has no derivative by Enzyme{''.join(f', at {x}' for x in places)}: it uses "
        f"{', '.join(unknown)}; {hint}, or give the kernel a rule: jax.custom_jvp, jax.custom_vjp, or an "
        "XLACustomKernel with a reference"
    )


def _how_to_find(unknown: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of the instruction, and of its line of Python, that use something refused."""
    instruction, source = _FOUND_BY.get(unknown, (rf'@"?{re.escape(unknown)}"?[ (]', ""))
    return re.compile(instruction), re.compile(source)
