"""Misuse of `XLACustomKernel`: backends that lie, rules that do not fit, arguments that cannot be static."""

import itertools
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np
from misuse import Misuse

from ffi_bridge import XLACustomKernel, numba_kernel
from ffi_bridge.errors import (
    BackendUnavailableError,
    DuplicateNameError,
    KernelDefinitionError,
    KernelTypeError,
    MissingRuleError,
    RuleError,
    StaticArgumentError,
    UnknownBackendError,
)

X: Final = np.ones(3, "f")
OUT: Final = jax.ShapeDtypeStruct((3,), jnp.float32)
_numbers = itertools.count()
Use = Callable[[XLACustomKernel], object]


def _new(builder: Any = None) -> XLACustomKernel:
    """An operator with one backend; without `builder` it doubles."""
    operator = XLACustomKernel(f"misused_{next(_numbers)}")
    operator.def_kernel("only", "cpu", builder or (lambda **_: lambda x: 2 * x))
    return operator


def _returning(result: Any) -> Callable[[], object]:
    return lambda: _new(lambda **_: lambda x: result)(X, outs=OUT)


def _used(use: Use) -> Callable[[], object]:
    return lambda: use(_new())


def _raising_builder(**_: Any) -> Any:
    raise OSError("no such file: weights.bin")


@numba.njit
def _one_more(x, out):
    out[0] = x[0]


def _wrong_kernel(outs: Any) -> Any:
    return numba_kernel(_one_more, [outs, outs])


def _with_jvp(rule: Any, use: Use) -> Callable[[], object]:
    def act() -> object:
        operator = _new()
        operator.def_jvp_rule2(rule)
        return use(operator)

    return act


def _jvp(operator: XLACustomKernel) -> object:
    return jax.jvp(lambda x: operator(x, outs=OUT), (X,), (X,))


def _grad(operator: XLACustomKernel) -> object:
    return jax.grad(lambda x: operator(x, outs=OUT).sum())(X)


def _batched(rule: Any) -> Callable[[], object]:
    def act() -> object:
        operator = _new()
        operator.def_batching_rule(rule)
        return jax.vmap(lambda x: operator(x, outs=OUT))(np.ones((2, 3), "f"))

    return act


def _twice(operator: XLACustomKernel) -> object:
    return [XLACustomKernel(operator.name) for _ in "ab"]


RESULTS = {
    "another shape": (np.ones(4, "f"), r"float32\[4\]; outs say float32\[3\]"),
    "another rank": (np.ones((3, 1), "f"), r"float32\[3, 1\]; outs say"),
    "another dtype": (np.ones(3, "i"), r"int32\[3\]; outs say"),
    "too many": ((X, X), "outs say"),
    "nothing": (None, "nothing; outs say"),
    "a text": ("text", "'text'.*not a valid JAX"),
}
CALLS: dict[str, tuple[Use, str, Any]] = {
    "unknown backend": (lambda f: f(X, outs=OUT, backend="cobol"), "cobol.*only", UnknownBackendError),
    "no outs": (lambda f: f(X, outs=None), "outs", KernelDefinitionError),
    "a number for outs": (lambda f: f(X, outs=3), "outs", KernelDefinitionError),
    "float64 outs": (
        lambda f: f(X, outs=jax.ShapeDtypeStruct((3,), np.float64)),
        "jax_enable_x64",
        KernelDefinitionError,
    ),
    "a list as static": (lambda f: f(X, outs=OUT, a=[1]), "'a'.*not hashable", StaticArgumentError),
    "an array as static": (lambda f: f(X, outs=OUT, a=X), "'a'.*not hashable", StaticArgumentError),
    "a tracer as static": (
        lambda f: jax.jit(lambda a: f(X, outs=OUT, a=a))(1.0),
        "'a' is a traced",
        StaticArgumentError,
    ),
    "a text as input": (lambda f: f("text", outs=OUT), r"\w{4,}", TypeError),
    "None as input": (lambda f: f(None, outs=OUT), r"\w{4,}", TypeError),
    "float16 as input": (
        lambda f: f(np.ones(3, np.float16), outs=OUT),
        "float16.*float32",
        KernelDefinitionError,
    ),
    "too many inputs": (lambda f: f(X, X, outs=OUT), "argument", TypeError),
    "no inputs": (lambda f: f(outs=OUT), "argument", TypeError),
    "derivative without a rule": (_grad, "def_reference", MissingRuleError),
    "no such default": (lambda f: f.set_default("cpu", "cobol"), "cobol.*only", UnknownBackendError),
    "no such platform": (lambda f: f.set_default("abacus", "only"), "cpu, gpu, tpu", UnknownBackendError),
    "a name that is taken": (_twice, "name|operator", DuplicateNameError),
    "a rule that takes nothing": (lambda f: f.def_jvp_rule(lambda: 0), "primals", RuleError),
    "a builder that is a number": (
        lambda f: f.def_kernel("b", "cpu", 3),
        "package.module:function",
        KernelTypeError,
    ),
}
BUILDERS = {
    "returns an array": (lambda **_: X, "builder of backend 'only' returned", KernelTypeError),
    "raises": (_raising_builder, "weights.bin", OSError),
    "is not there": ("no.such.module:f", "no", (ImportError, BackendUnavailableError)),
    "takes no outs": (lambda: None, "argument", TypeError),
    "has a kernel of other outputs": (_wrong_kernel, "'_one_more' takes 2 arguments", KernelTypeError),
}
RULES = {
    "tangent of another shape": (lambda t, x, **_: jnp.ones(4), "as tangent of output 0", RuleError),
    "tangent of another dtype": (lambda t, x, **_: jnp.ones(3, "i"), "as tangent of output 0", RuleError),
    "two tangents": (lambda t, x, **_: (t, t), "2 tangents for 1", RuleError),
    "tangent that is a text": (lambda t, x, **_: "text", r"\w{4,}", (RuleError, TypeError)),
}
BATCHING = {
    "nothing": lambda args, axes, **_: None,
    "another shape": lambda args, axes, **_: (jnp.ones((5, 3)), 0),
    "too many": lambda args, axes, **_: ((args[0], args[0]), (0, 0)),
    "an axis that is not there": lambda args, axes, **_: (args[0], 7),
}

CASES = (
    *(
        Misuse(f"backend returns {name}", _returning(result), match)
        for name, (result, match) in RESULTS.items()
    ),
    *(Misuse(f"call: {name}", _used(use), match, error) for name, (use, match, error) in CALLS.items()),
    *(
        Misuse(f"builder {name}", lambda g=builder: _new(g)(X, outs=OUT), match, error)
        for name, (builder, match, error) in BUILDERS.items()
    ),
    *(
        Misuse(f"jvp rule: {name}", _with_jvp(rule, _jvp), match, error)
        for name, (rule, match, error) in RULES.items()
    ),
    *(
        Misuse(f"batching rule: {name}", _batched(rule), "misused.*the batching rule", RuleError)
        for name, rule in BATCHING.items()
    ),
    Misuse(
        "no backend at all",
        lambda: XLACustomKernel(f"misused_{next(_numbers)}")(X, outs=OUT),
        "Registered: none.*def_reference",
        BackendUnavailableError,
    ),
)
