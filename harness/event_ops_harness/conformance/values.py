"""Check values against the oracle, in every mode of execution, on every call, in every element."""

import ctypes
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Mismatch, NotApplicable, assert_same_bits
from event_ops_harness.conformance.platforms import GPU, registered
from event_ops_harness.conformance.rounding import check_values
from ffi_bridge import debug

_RUNS: Final = 20  # of one call, which have to agree
_ORDERS: Final = 6  # of the shares of a parallel loop
_THREADS: Final = 8
_CALLS: Final = 5  # of each of the threads
M_PERTURB: Final = -6  # of mallopt, see its manual page


def values(trial: Trial) -> None:
    """Check f(x) against the oracle, in the dtype of the inputs."""
    result = trial.f(*trial.args)
    for y in jax.tree.leaves(result):
        if y.dtype.kind in "fc" and trial.dtype != y.dtype and trial.dtype[0] in "fc":
            raise Mismatch(f"an output has dtype {y.dtype}; expected {trial.dtype}")
    check_values(trial, result)


def jit(trial: Trial) -> None:
    """jit(f)(x) is f(x), and x is as before: kernels work in place only where XLA lets them."""
    before = [np.array(x) for x in trial.args]
    expected = trial.f(*trial.args)
    trial.same(trial.jitted(*trial.args), expected, 2)
    for x, old in zip(trial.args, before, strict=True):
        assert_same_bits(x, old, "an input was overwritten")


def eager(trial: Trial) -> None:
    """A call outside of jit, on arrays of JAX or NumPy, has the bits of a jitted one of a kernel."""
    expected = trial.jitted(*trial.args)
    for whose, args in (("JAX", trial.args), ("NumPy", trial.numpy_args)):
        result = trial.f(*args)
        trial.same(result, expected, 2)
        if trial.backend != "reference" and not _is_order_open(trial):  # XLA makes constants of numbers
            assert_same_bits(
                result, expected, f"an eager call on arrays of {whose} differs from a jitted one"
            )


def deterministic(trial: Trial) -> None:
    """The same bits in 20 calls, with `deterministic=True` where a GPU adds in any order without it."""
    if _is_order_open(trial):
        if not _can_order(trial):
            raise NotApplicable("a GPU adds in any order here, and there is no deterministic=True")
        once = jax.jit(lambda *xs: trial.f(*xs, deterministic=True))
        _assert_repeats(lambda: once(*trial.args), _RUNS)
    else:
        _assert_repeats(lambda: trial.jitted(*trial.args), _RUNS)


def _is_order_open(trial: Trial) -> bool:
    """Return whether threads of a GPU, emulated or not, add or multiply in any order here."""
    return registered() == GPU and (_can_order(trial) or "atomic" in trial.operator.kernel.tags)


def _can_order(trial: Trial) -> bool:
    return "deterministic" in inspect.signature(trial.operator.function).parameters


def races(trial: Trial) -> None:
    """Shares of parallel loops do not meet: values are the same in any order, and with shares isolated."""
    expected = jax.tree.map(np.asarray, trial.jitted(*trial.args))
    with debug.guarded():
        # A new function, for which JAX finds no program that was compiled without guards.
        isolated = jax.jit(lambda *xs: trial.f(*xs))
        trial.same(isolated(*trial.args), expected, 2)
        _assert_repeats(lambda: isolated(*trial.args), _ORDERS)


def _assert_repeats(call: Callable[[], Any], times: int) -> None:
    first = jax.tree.map(np.asarray, call())
    for _ in range(times - 1):
        assert_same_bits(call(), first, "equal calls give different bits")


def threads(trial: Trial) -> None:
    """The same values in calls from 8 threads at once."""
    call, failures = trial.jitted, []
    expected = jax.tree.map(np.asarray, call(*trial.args))

    def work() -> None:
        try:
            # The context of `jax.enable_x64` is that of one thread.
            with trial.types():
                for _ in range(_CALLS):
                    trial.same(call(*trial.args), expected, 2)
        except Exception as error:  # raised again in the thread that waits
            failures.append(error)

    running = [threading.Thread(target=work) for _ in range(_THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if failures:
        raise failures[0]


def written(trial: Trial) -> None:
    """Check that every element of the outputs is written: nothing of the memory's old content shows."""
    call = trial.jitted
    jax.block_until_ready(call(*trial.args))
    # Complements of each other: no value looks like both.
    results = [_with_memory_of(pattern, lambda: call(*trial.args)) for pattern in (0x55, 0xAA)]
    try:
        trial.same(results[1], results[0], 2)  # and not the same bits: a GPU adds in any order
    except Mismatch as error:
        raise Mismatch(f"an element is left as memory was: {error}") from error


def _with_memory_of(pattern: int, call: Any) -> Any:
    libc = ctypes.CDLL(None)
    libc.mallopt(M_PERTURB, pattern)  # new memory is filled with its complement
    try:
        return jax.tree.map(np.array, call())
    finally:
        libc.mallopt(M_PERTURB, 0)


def nan(trial: Trial) -> None:
    """NaN in the first element of a float input shows where it shows in the reference, and nowhere else."""
    if trial.operator.kernel.reference is None:
        raise NotApplicable("no reference says where NaN is to show")
    for i, x in enumerate(trial.args):
        if x.dtype.kind != "f" or x.size == 0:
            continue
        args = list(trial.args)
        args[i] = x.reshape(-1).at[0].set(jnp.nan).reshape(x.shape)
        got, expected = (
            jax.tree.leaves(trial.operator.function(*args, backend=backend, **trial.kwargs))
            for backend in (trial.backend, "reference")
        )
        for a, b in zip(got, expected, strict=True):
            if a.dtype.kind == "f" and not np.array_equal(np.isnan(a), np.isnan(b)):
                raise Mismatch(
                    f"NaN in input {i} shows at {np.flatnonzero(np.isnan(a))[:8]}; "
                    f"in the reference at {np.flatnonzero(np.isnan(b))[:8]}"
                )
