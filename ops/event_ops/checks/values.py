"""The validate mode: operators also check the values of indices, pointers and ids, not only their shapes.

`with event_ops.validate():` around calls in this thread, or `EVENT_OPS_VALIDATE=1` in the environment of the
process. What an argument must hold is declared once for each operator, by `contract` above its function.
"""

import contextlib
import ctypes
import functools
import inspect
import json
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from event_ops.checks.arrays import is_known
from ffi_bridge import debug
from ffi_bridge.targets import FrameReader, ensure_target, python_handler

VARIABLE: Final = "EVENT_OPS_VALIDATE"

_TARGET: Final = "event_ops.validate"
_HINT: Final = (
    "correct it, or leave the validate mode, in which the operator's docstring says what becomes of it"
)
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True)
class Rule:
    """A condition on the values of an argument.

    Args:
        wrong: a function `(values, xp)` that returns where values, a flat array of at least one, break the
            rule; xp is `numpy` or `jax.numpy`.
        expected: the rule in words.
        kinds: the kinds of dtypes that are checked; the operator itself refuses the others.
    """

    wrong: Callable[[Any, Any], Any]
    expected: str
    kinds: str = "iu"


# Maps the arguments of a call to the rule for one of them; to None if it may hold anything, or if the
# arguments do not fit each other, for which the operator itself has a better error.
Declared = Callable[[Mapping[str, Any]], Rule | None]

_BY_ENVIRONMENT: Final = os.environ.get(VARIABLE, "") not in ("", "0")
# A context of JAX is part of the keys of its caches: what is compiled without checks is not used with them.
_MODE: Final = jax.make_user_context(_BY_ENVIRONMENT)
if _BY_ENVIRONMENT:
    debug.turn_on()


@contextlib.contextmanager
def validate() -> Generator[None]:
    """Raise an error, within the block and in this thread, when arguments of an operator break its contract.

    The error names the operator, the argument, the first wrong position and the value there. Arrays that are
    known raise ValueError at the call. Traced ones are checked when the program runs, on every backend, and
    raise `jax.errors.JaxRuntimeError` with the same text behind "INTERNAL: ", and on a GPU behind the
    traceback of a callback. Outputs of kernels on the CPU lie between canaries and begin as NaN or -1, as
    with `FFI_BRIDGE_DEBUG=1`. A function under `jax.jit` is traced once more for the mode. A program that was
    traced in the mode calls Python where a check fails, so that `jax.export` refuses it.
    """
    with _MODE(True), debug.guarded():
        yield


def is_on() -> bool:
    """Return whether operators called now check values."""
    return bool(_MODE.value)


def contract(**rules: Declared) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Declare rules for the values of an operator's arguments, which only the validate mode checks."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if not is_on():
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = dict(bound.arguments)
            for name, declared in rules.items():
                if (x := arguments[name]) is not None:
                    bound.arguments[name] = _checked(f"{function.__name__}: {name}", x, declared, arguments)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def check_room(name: str, count: jax.Array, nse: int) -> jax.Array:
    """Return the number of entries of a result that has room for nse, with a check of it in validate mode.

    Raise ValueError if it is known to be larger, in whatever mode.
    """
    if is_known(count):
        if int(count) > nse:
            raise ValueError(f"{name}: nse is {nse}, and there are {count} entries; expected room for all")
        return count
    rule = Rule(lambda x, xp: x > nse, f"at most {nse}: nse has to have room for all entries")
    return _checked_when_run(f"{name}: the number of entries", count, rule) if is_on() else count


def check_values(name: str, x: Any, rule: Rule, hint: str) -> None:
    """Raise ValueError, which ends with `hint`, unless `x`, where it is known, keeps the rule."""
    if not is_known(x):
        return
    values = np.asarray(x)
    if values.dtype.kind not in rule.kinds or not values.size:
        return
    wrong = rule.wrong(values.reshape(-1), np)
    if wrong.any():
        first = int(np.argmax(wrong))
        facts = first, values.flat[first], wrong.sum()
        raise ValueError(_message(name, rule.expected, values.shape, *facts, hint))


def checkify_values(name: str, x: jax.Array, rule: Rule) -> None:
    """Check by `checkify.check`, which works under jit, that `x` keeps the rule."""
    wrong = rule.wrong(x.reshape(-1), jnp)
    message = f"{{}} of {x.size} {name} are wrong; expected {rule.expected}"
    checkify.check(~jnp.any(wrong), message, jnp.sum(wrong))


def _checked(name: str, x: Any, declared: Declared, arguments: Mapping[str, Any]) -> Any:
    """Return `x`, if it is traced with the check as a part of it; raise ValueError if known and wrong."""
    rule = declared(arguments) if np.size(x) else None
    if rule is None:
        return x
    check_values(name, x, rule, _HINT)
    return x if is_known(x) or x.dtype.kind not in rule.kinds else _checked_when_run(name, x, rule)


def _checked_when_run(name: str, x: jax.Array, rule: Rule) -> jax.Array:
    values = jax.lax.stop_gradient(x).reshape(-1)
    wrong = rule.wrong(values, jnp)
    first = jnp.argmax(wrong)
    facts = wrong.any(), first, values[first], wrong.sum()
    refuse = functools.partial(_refuse, name, rule, x.shape)
    zero = jax.ShapeDtypeStruct((), np.int32)
    report = _Report(name, rule.expected, x.shape, tuple(str(part.dtype) for part in facts)).written()

    def on_cpu(*facts: jax.Array) -> jax.Array:
        ensure_target(_TARGET, lambda: python_handler(_refuse_call, None), platform="cpu")
        return jax.ffi.ffi_call(_TARGET, zero, vmap_method="sequential")(report, *facts)

    def elsewhere(*facts: jax.Array) -> jax.Array:
        return jax.pure_callback(refuse, zero, *facts, vmap_method="broadcast_all")

    def refused(x: jax.Array) -> jax.Array:
        added = jax.lax.platform_dependent(*facts, cpu=on_cpu, default=elsewhere)
        # XLA does not know that `added` is 0, and so cannot leave out the call.
        return x + added.astype(x.dtype)

    return jax.lax.cond(facts[0], refused, lambda x: x, x)


class _Report(NamedTuple):
    """Facts for a message, beside the values that were found and their dtypes."""

    name: str
    expected: str
    shape: tuple[int, ...]
    dtypes: tuple[str, ...]

    def written(self) -> np.ndarray:
        """Return it as bytes: a part of the program, which another process may run from a cache."""
        return np.frombuffer(json.dumps(self).encode() + b"\0", np.uint8)


# XLA puts a traceback of its own Python frames in front of what a callback raises; not of this.
def _refuse_call(frame: FrameReader) -> None:
    """Raise ValueError for a wrong value that a check found, in a handler that XLA calls; else write 0."""
    report, *places, result = frame.addresses()
    about = _Report(*json.loads(ctypes.string_at(report)))
    facts = (_at(place, dtype) for place, dtype in zip(places, about.dtypes, strict=True))
    wrong, first, value, count = facts
    if wrong:
        raise ValueError(_message(about.name, about.expected, tuple(about.shape), int(first), value, count))
    ctypes.c_int32.from_address(result).value = 0


def _at(place: int, dtype: str) -> Any:
    return np.frombuffer(ctypes.string_at(place, np.dtype(dtype).itemsize), dtype)[0]


def _refuse(name: str, rule: Rule, shape: tuple[int, ...], *facts: Any) -> Any:
    """Raise ValueError for the first wrong value that a batch of checks found; return zeros if none did."""
    # Under vmap both sides of a condition are computed, also where nothing is wrong.
    for wrong, first, value, count in zip(*map(np.ravel, facts), strict=True):
        if wrong:
            raise ValueError(_message(name, rule.expected, shape, int(first), value, count))
    return np.zeros(np.shape(facts[0]), np.int32)


def _message(
    name: str, expected: str, shape: tuple[int, ...], first: int, value: Any, count: Any, hint: str = _HINT
) -> str:
    place = ", ".join(map(str, np.unravel_index(first, shape)))
    element = f"{name}[{place}]" if shape else name
    size = int(np.prod(shape, dtype=np.int64))
    return f"{element} is {value}, and {count} of {size} are wrong; expected {expected}; {hint}"
