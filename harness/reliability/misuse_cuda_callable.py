"""Misuse of `numba_cuda_callable`, on the emulated GPU: what cannot be recorded, wrong launches."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from bad_cuda_kernels import copy, typo, writes_beyond, writes_input
from misuse import RUN_ERRORS, Misuse, called
from misuse_cuda import ENV as ENV
from misuse_cuda import OUT, ROWS, X, gpu
from numba import cuda

from ffi_bridge import numba_cuda_callable
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError, PythonFallbackWarning


def copies(x, out, stream):
    copy[1, 8, stream](x, out)


def raises(x, out, stream):
    raise ValueError("found nothing")


def launches_typo(x, out, stream):
    typo[1, 8, stream](x, out)


def launches_what_writes_input(x, out, stream):
    writes_input[1, 8, stream](x, out)


def copies_back(x, out, stream):
    copy[1, 8, stream](out, x)


def launches_beyond(x, out, stream):
    writes_beyond[1, 8, stream](x, out)


def takes_beyond(x, out, stream):
    copy[1, 8, stream](x[9], out)


def a_negative_temporary(x, out, stream):
    copy[1, 8, stream](x, cuda.device_array(-3, np.float32))


def makes_an_event(x, out, stream):
    cuda.event()


def passes_nothing(x, out, stream):
    copy[1, 8, stream](None, out)


def calls_jax(x, out, stream):
    copy[1, 8, stream](jnp.sin(x), out)


def passes_an_array_of_the_host(x, out, stream):
    copy[1, 8, stream](2 * X, out)


def computes_with_numpy(x, out, stream):
    copy[1, 8, stream](np.add(x, x), out)


class Copies:
    def __call__(self, x: Any, out: Any, stream: Any) -> None:
        copies(x, out, stream)


def _wrapped(function: Any = copies, outs: Any = OUT, **options: Any) -> Any:
    gpu()
    return numba_cuda_callable(function, outs, **options)


def _define(**options: Any) -> Callable[[], object]:
    return lambda: _wrapped(**options)


def _call(function: Any, *ins: Any, outs: Any = OUT) -> Callable[[], object]:
    return called(lambda: _wrapped(function, outs), *ins)


def _launch(*configuration: Any) -> Callable[[], object]:
    def function(x: Any, out: Any, stream: Any) -> None:
        copy[configuration](x, out)

    return _call(function, X)


def _without_configuration(x: Any, out: Any, stream: Any) -> None:
    copy(x, out)


def _doubles_in_python(function: Any) -> Callable[[], None]:
    """What cannot be recorded and can be run has the right result, and a warning."""

    def act() -> None:
        f = _wrapped(function)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(jax.jit(f)(X), 2 * X)
        assert [warning.category for warning in seen] == [PythonFallbackWarning]

    return act


def _launches_nothing() -> None:
    def function(x: Any, out: Any, stream: Any) -> None:
        copy[0, 8, stream](x, out)

    np.testing.assert_array_equal(_wrapped(function, input_output_aliases={0: 0})(X), X)


NO_FUNCTIONS = {
    "a kernel": (copy, "needs a Python function.*a single kernel needs numba_cuda_kernel"),
    "nothing": (None, "needs a Python function"),
    "a partial": (functools.partial(copies), "needs a Python function"),
    "an object": (Copies(), "needs a Python function"),
}
LAUNCHES = {
    "too many threads": ((1, 5000), "1024 together"),
    "no threads": ((1, 0), "block=0"),
    "negative grid": ((-1, 8), "grid=-1"),
    "fractional grid": ((1.5, 8), "grid=1.5"),
    "much shared memory": ((1, 8, 0, 1 << 20), "at most 232448"),
    "negative shared memory": ((1, 8, 0, -4), "shared_mem=-4"),
    "clusters": ((1, 8, 0, 0, 2), "launched with clusters 2"),
}
CALLS = {
    "a function of fewer": (lambda x, out: None, "takes 2 positional arguments but 3", TypeError),
    "too few arguments": (lambda x, out, s: copy[1, 8](x), "'copy' with 1 arguments", KernelTypeError),
    "too many arguments": (lambda x, out, s: copy[1, 8](x, out, 1), "'copy' with 3 arg", KernelTypeError),
    "no configuration": (_without_configuration, "launch configuration was not specified", ValueError),
    "raises when recorded": (raises, "found nothing", ValueError),
    "a kernel that does not compile": (launches_typo, "'typo' does not compile", KernelTypeError),
    "a kernel that writes into an input": (
        launches_what_writes_input,
        "inputs are read-only",
        KernelTypeError,
    ),
    "an input as output": (copies_back, "inputs are read-only", KernelTypeError),
    "of JAX": (calls_jax, "RecordedArray", TypeError),
    "a kernel out of bounds": (launches_beyond, "'writes_beyond': .*writes 4 bytes out of", RUN_ERRORS),
    "an element out of bounds": (takes_beyond, "'takes_beyond' raised IndexError", RUN_ERRORS),
    "a negative temporary": (a_negative_temporary, "raised ValueError: negative dimensions", RUN_ERRORS),
    "an event": (makes_an_event, "'makes_an_event' raised", RUN_ERRORS),
    "nothing for an array": (passes_nothing, "'passes_nothing' raised", RUN_ERRORS),
}

CASES = (
    *(
        Misuse(f"no function: {name}", _define(function=x), match, TypeError)
        for name, (x, match) in NO_FUNCTIONS.items()
    ),
    *(
        Misuse(f"launch: {name}", _launch(*configuration), match, KernelDefinitionError)
        for name, (configuration, match) in LAUNCHES.items()
    ),
    Misuse("launch: no blocks", _launches_nothing, error=None),
    *(
        Misuse(f"call: {name}", _call(function, X), match, error)
        for name, (function, match, error) in CALLS.items()
    ),
    *(
        Misuse(f"in Python: {function.__name__}", _doubles_in_python(function), error=None)
        for function in (passes_an_array_of_the_host, computes_with_numpy)
    ),
    Misuse("outs: None", _call(copies, X, outs=None), "outs is empty", KernelDefinitionError),
    Misuse("outs: too many", _call(copies, X, outs=[OUT, OUT]), "positional arguments but 4", TypeError),
    Misuse("no such vmap_method", _define(vmap_method="expand_dims"), "None, 'sequential'", ValueError),
    Misuse("vmap: an axis too far", lambda: jax.vmap(_wrapped(), 3)(ROWS), "axis 3", ValueError),
    Misuse("a derivative", lambda: jax.jvp(_wrapped(), (X,), (X,)), "custom_jvp", MissingRuleError),
)
