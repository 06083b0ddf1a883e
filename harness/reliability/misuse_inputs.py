"""Misuse of what `numba_kernel` returns: numbers of inputs, dtypes, aliases, what is no array."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse
from misuse import Misuse
from misuse_kernels import OUT, X, copy

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelTypeError

WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "traced only": lambda f: lambda *ins: jax.eval_shape(f, *ins),
    "scan": lambda f: lambda *ins: jax.lax.scan(lambda c, _: (c, f(*ins)), 0, None, length=2),
}
NUMBERS_OF_INPUTS = {"none": (), "two": (X, X), "twenty": (X,) * 20}
DTYPES = (jnp.float16, jnp.bfloat16, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.int4, jnp.uint4)
NO_ARRAYS = {
    "None": None,
    "a text": "text",
    "a set": {1.0},
    "a dict": {"x": X},
    "objects": np.array([X, None], dtype=object),
    "dates": np.zeros(3, "datetime64[s]"),
    "a record": np.zeros(3, [("x", "f")]),
    "bytes in another order": np.ones(3, ">f4"),
    "a ragged list": [[1.0], [1.0, 2.0]],
    "a sparse matrix": sparse.BCOO((X, np.zeros((3, 1), "i")), shape=(3,)),
    "a shape": jax.ShapeDtypeStruct((3,), jnp.float32),
    "a function": copy,
    "an integer of 80 bits": 2**80,
}


def _call(way: str, *ins: Any, outs: Any = OUT, **options: Any) -> Callable[[], object]:
    return lambda: WAYS[way](numba_kernel(copy, outs, **options))(*ins)


def _refusal(name: str, dtype: Any) -> str:
    if dtype in (jnp.float16, jnp.bfloat16):
        return rf"'copy' does not compile for .*np\.float32\({name}\[i\]\)"
    return f"'copy': argument '{name}' has dtype {jnp.dtype(dtype).name}"


def _deleted() -> object:
    x = jnp.ones(3)
    x.delete()
    return numba_kernel(copy, OUT)(x)


def _leaked() -> object:
    leaks: list[Any] = []
    jax.jit(lambda x: leaks.append(x) or x)(X)
    return numba_kernel(copy, OUT)(leaks[0])


def _of_no_such_name() -> object:
    return numba_kernel(copy, OUT)(no_such_name=X)


def _twice() -> object:
    return numba_kernel(copy, OUT)(X, x=X)


def _by_name() -> None:
    np.testing.assert_array_equal(numba_kernel(copy, OUT)(x=X), X)


def _keys() -> object:
    return numba_kernel(copy, OUT)(jax.random.split(jax.random.key(0), 3))


def _other_layouts() -> None:
    """Whatever way an array lies in memory, the kernel sees it row by row."""
    rows = np.arange(12.0, dtype="f").reshape(4, 3)
    for x in (rows[:, 1], rows[::-1, 0], np.asfortranarray(rows)[1], rows.T[2]):
        out = numba_kernel(copy, jax.ShapeDtypeStruct(x.shape, jnp.float32))(x)
        np.testing.assert_array_equal(out, x)


def _lists_and_numbers() -> None:
    np.testing.assert_array_equal(numba_kernel(copy, OUT)([1, True, 2.5]), [1, 1, 2.5])


def _nothing_to_do() -> None:
    empty = jax.ShapeDtypeStruct((0,), jnp.float32)
    for way in ("eager", "jit"):
        assert WAYS[way](numba_kernel(copy, empty))(np.zeros(0, "f")).shape == (0,)


def _memory_that_was_read_only() -> None:
    x = np.arange(3, dtype="f")
    x.flags.writeable = False
    np.testing.assert_array_equal(numba_kernel(copy, OUT)(x), [0, 1, 2])


SERVED = (_other_layouts, _lists_and_numbers, _by_name, _nothing_to_do, _memory_that_was_read_only)

CASES = (
    *(
        Misuse(
            f"{name} inputs, {way}",
            _call(way, *ins),
            f"'copy' takes 2 arguments.*the call has {len(ins)} inputs",
            KernelTypeError,
        )
        for name, ins in NUMBERS_OF_INPUTS.items()
        for way in WAYS
    ),
    *(
        Misuse(
            f"input of {jnp.dtype(dtype).name}, {way}",
            _call(way, np.ones(3, dtype)),
            _refusal("x", dtype),
            KernelTypeError,
        )
        for dtype in DTYPES
        for way in WAYS
    ),
    *(
        Misuse(
            f"output of {jnp.dtype(dtype).name}",
            _call("eager", X, outs=jax.ShapeDtypeStruct((3,), dtype)),
            f"'copy': argument 'out' has dtype {jnp.dtype(dtype).name}",
            KernelTypeError,
        )
        for dtype in DTYPES
    ),
    *(
        Misuse(f"{name} for an array", _call("eager", x), r"\w{4,}", (TypeError, ValueError, OverflowError))
        for name, x in NO_ARRAYS.items()
    ),
    Misuse(
        "alias of another shape", _call("jit", np.ones(4, "f"), input_output_aliases={0: 0}), "equal shapes"
    ),
    Misuse(
        "alias of another dtype", _call("jit", np.ones(3, "i"), input_output_aliases={0: 0}), "equal shapes"
    ),
    Misuse("alias of no input", _call("jit", X, input_output_aliases={1: 0}), "the call has 1 inputs"),
    Misuse("a deleted array", _deleted, "deleted", RuntimeError),
    Misuse("a tracer that outlived its trace", _leaked, "tracer", jax.errors.UnexpectedTracerError),
    Misuse("an input of no such name", _of_no_such_name, "by position and no_such_name by name", TypeError),
    Misuse("an input given twice", _twice, "got 1 inputs by position and x by name", TypeError),
    Misuse("random keys", _keys, "key", (TypeError, ValueError)),
    *(Misuse(act.__name__[1:].replace("_", " "), act, error=None) for act in SERVED),
)
