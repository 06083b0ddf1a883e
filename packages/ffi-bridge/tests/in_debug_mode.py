"""Kernels that are right and wrong, in a process in the debug mode; prints what came of each, as JSON."""

import ctypes
import json
import resource

import jax
import jax.numpy as jnp
import numba
import numpy as np
import warp as wp

from ffi_bridge import numba_kernel, warp_kernel
from ffi_bridge.handler.guards import GUARD

X = jnp.arange(5.0)
clear = ctypes.CDLL(None).memset
clear.argtypes, clear.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t], ctypes.c_void_p
FIVE = jax.ShapeDtypeStruct((5,), jnp.float32)
SIZES = [size * GUARD + rest for size in (0, 1, 2) for rest in (1, GUARD // 2, GUARD - 1, GUARD)]


@numba.njit
def right(x, y):
    y[:] = x


@numba.njit
def into_an_input(place, x, y):
    clear(place[0], 0, 4)  # an address that is no pointer to LLVM, as one from a library is none
    y[:] = x


@numba.njit(parallel=True)
def into_an_input_in_parallel(place, x, y):
    for i in numba.prange(y.size):
        y[i] = x[i]
    clear(place[0], 0, 4)


@numba.njit
def unwritten(x, y):
    y[0] = x[1]


@numba.njit
def behind(x, y):
    for i in range(x.size + 1):
        y[i] = x[0]


@numba.njit
def before(x, y):
    y[-x.size - 1] = 1


@numba.njit
def far_behind(x, y):
    y[y.size + GUARD - 1] = 1  # the last byte that has to be a canary


@numba.njit
def far_before(x, y):
    y[-y.size - GUARD] = 1  # the first


@numba.njit(parallel=True)
def in_threads(x, y):
    for i in numba.prange(x.size + 3):
        y[i] = 1


@numba.njit(parallel=True)
def adds_to_one(x, y):
    y[:] = 0
    for i in numba.prange(x.size):
        y[0] += x[i]


@numba.njit(parallel=True)
def counts(x, y):
    y[:] = 0
    for i in numba.prange(x.size):
        y[0] += x[i] < 9


@numba.njit(parallel=True)
def reads_a_neighbour(x, y):
    y[0] = x[0]
    for i in numba.prange(1, x.size):
        y[i] = y[i - 1] + 1


@numba.njit(parallel=True)
def order_of_shares(x, y):
    turns, turn = np.zeros(1), np.zeros(x.size)
    for i in numba.prange(x.size):
        turns[0] += 1
        turn[i] = turns[0]
    for i in range(x.size):
        y[i] = turn[i]


@numba.njit(parallel=True)
def in_parallel(x, y, total):
    found = np.float32(0)
    for i in numba.prange(x.size):
        y[i] = 1
        found += x[i]
    total[0] = found
    for i in numba.prange(x.size):
        y[i] += x[i] + total[0]
    for i in numba.prange(x.size):
        for j in numba.prange(2):
            y[i] += j


@numba.njit(parallel=True)
def in_parallel_in_place(x, y):
    for i in numba.prange(x.size):
        y[i] += y[i]


@numba.njit
def raises(x, y):
    raise ValueError("no")


@numba.njit
def in_place(x, y):
    y[0] = 7


@numba.njit
def behind_in_place(x, z, y):
    for i in range(z.size):
        y[i] += x[0]


@numba.njit
def integers(x, y, z):
    y[0] = 1
    z[2:] = 1


@wp.kernel
def right_in_warp(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i < 3:
        y[i] = x[i]


@wp.kernel
def behind_in_warp(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i + 1] = x[i]


@wp.func_native("a.data[i] = 5.0f;")
def store_natively(a: wp.array(dtype=float), i: int): ...


@wp.kernel
def into_an_input_in_warp(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    store_natively(x, i)
    y[i] = x[i]


def outcome(call, *ins):
    try:
        return np.nan_to_num(np.asarray(call(*ins)), nan=-99).tolist()
    except Exception as error:
        return str(error).splitlines()[0]


found = {}
for kernel in (right, unwritten, behind, before, in_threads, raises):
    call = numba_kernel(kernel, FIVE)
    found[kernel.__name__] = outcome(call, X)
    found[kernel.__name__ + " of a batch"] = outcome(jax.jit(jax.vmap(call)), jnp.stack([X, X]))
with jax.enable_x64(True):
    place = jnp.array([X.unsafe_buffer_pointer() + 4])
    for kernel in (into_an_input, into_an_input_in_parallel):
        call = numba_kernel(kernel, FIVE)
        found[kernel.__name__] = [outcome(call, place, X), X.tolist()]
found["in_place"] = outcome(jax.jit(numba_kernel(in_place, FIVE, input_output_aliases={0: 0})), X)
writes_behind = numba_kernel(behind_in_place, FIVE, input_output_aliases={0: 0})
for size in (5, 6):
    found[f"{size} in place"] = outcome(writes_behind, X + 1, jnp.ones(size))
    batch = jnp.stack([X + 1, X + 2]), jnp.ones((2, size))
    found[f"{size} in place of a batch"] = outcome(jax.jit(jax.vmap(writes_behind)), *batch)
WITH_ONE = (FIVE, jax.ShapeDtypeStruct((1,), jnp.float32))
call = numba_kernel(adds_to_one, FIVE)
found["adds_to_one"] = outcome(call, X)
found["adds_to_one of a batch"] = outcome(jax.vmap(call), jnp.stack([X, X]))
found["reads_a_neighbour"] = outcome(numba_kernel(reads_a_neighbour, FIVE), X + 1)
found["counts"] = outcome(numba_kernel(counts, WITH_ONE[1]), X[:4])
call = numba_kernel(order_of_shares, FIVE)
found["orders"] = sorted({tuple(outcome(call, X)) for _ in range(40)})
call = numba_kernel(in_parallel, WITH_ONE)
found["in_parallel"] = [outcome(lambda x: call(x)[0], X) for _ in range(40)]
found["in_parallel of a batch"] = outcome(lambda x: jax.vmap(call)(x)[0], jnp.stack([X, 2 * X]))
nothing = numba_kernel(in_parallel, (jax.ShapeDtypeStruct((0,), jnp.float32), WITH_ONE[1]))
found["in_parallel of nothing"] = outcome(lambda x: nothing(x)[1], X[:0])
call = numba_kernel(in_parallel_in_place, FIVE, input_output_aliases={0: 0})
found["in_parallel_in_place"] = outcome(jax.jit(lambda x: call(call(x))), X)
found["empty"] = outcome(numba_kernel(right, jax.ShapeDtypeStruct((0,), jnp.float32)), X[:0])
kinds = [jax.ShapeDtypeStruct((2,), jnp.int16), jax.ShapeDtypeStruct((2,), jnp.uint8)]
found["integers"] = [outcome(lambda x, i=i: numba_kernel(integers, kinds)(x)[i], X) for i in range(2)]
for kernel in (far_behind, far_before):
    calls = [numba_kernel(kernel, jax.ShapeDtypeStruct((size,), jnp.uint8)) for size in SIZES]
    found[kernel.__name__] = sorted({outcome(call, jnp.zeros(1, jnp.uint8)) for call in calls})
call = warp_kernel(into_an_input_in_warp, FIVE, launch_dims=5)
found["into_an_input_in_warp"] = [outcome(call, X), X.tolist()]
for kernel in (right_in_warp, behind_in_warp):
    found[kernel.key] = outcome(warp_kernel(kernel, FIVE, launch_dims=5), X)
million = jax.ShapeDtypeStruct((1_000_000,), jnp.float32)
leaks, started = numba_kernel(raises, million), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(100):
    outcome(leaks, X)
found["kilobytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - started
print(json.dumps(found))
