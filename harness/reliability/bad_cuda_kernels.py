"""CUDA kernels that copy, and others that do not compile or fail."""

import numba
from numba import cuda


@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cuda.jit
def unpacks_one_extent(x, out):
    (n,) = x.shape
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i]


@cuda.jit(device=True)
def device_function(x):
    return x


@cuda.jit
def writes_input(x, out):
    x[0] = 1
    out[0] = x[0]


@cuda.jit
def returns(x, out):
    return x[0]


@cuda.jit
def star(*arrays):
    arrays[-1][0] = 1


@cuda.jit
def keyword_only(x, *, out):
    out[0] = x[0]


@cuda.jit
def unknown_name(x, out):
    out[0] = nobody_defined_this(x)  # noqa: F821


@cuda.jit
def typo(x, out):
    out[0] = x.lenght


@cuda.jit
def stores_text(x, out):
    out[0] = "text"


@cuda.jit
def whole_grid(x, out):
    cuda.cg.this_grid().sync()
    out[0] = x[0]


@cuda.jit
def static_shared(x, out):
    shared = cuda.shared.array(20_000, numba.float32)
    shared[cuda.threadIdx.x] = x[0]
    out[0] = shared[0]


@cuda.jit
def reads_beyond(x, out):
    out[0] = x[x.size + cuda.threadIdx.x]


@cuda.jit
def writes_beyond(x, out):
    out[out.size + cuda.threadIdx.x] = x[0]


@cuda.jit
def loops_for_ever(x, out):
    while x[0] < 1:
        out[0] = x[0]


@cuda.jit
def raises(x, out):
    if x[0] >= 0:
        raise ValueError("x must be negative")
    out[0] = 5
