"""Kernels of Warp: vectors, matrices, quaternions, structures, loops, atomics, random numbers, adjoints."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import warp as wp
from warp._src.types import array_t, launch_bounds_t

from ptx_on_cpu import Buffer, Kernel

SIZE = 100


@wp.struct
class Body:
    at: wp.vec3
    speed: wp.vec3
    mass: float


@wp.func
def attraction(a: wp.vec3, b: wp.vec3, mass: float):
    d = b - a
    return d * (mass / wp.pow(wp.dot(d, d) + 0.1, 1.5))


@wp.kernel
def forces(x: wp.array(dtype=wp.vec3), mass: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    total = wp.vec3()
    for j in range(mass.shape[0]):
        if i != j:
            total += attraction(x[i], x[j], mass[j])
    y[i] = total


@wp.kernel
def polynomial(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i % 7, x[i] * x[i] * wp.exp(-x[i]))


@wp.kernel
def transforms(m: wp.array(dtype=wp.mat33), q: wp.array(dtype=wp.quat), y: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    y[0, i] = wp.transpose(m[i]) * v + m[i] * m[i] * v
    y[1, i] = wp.quat_rotate(wp.normalize(q[i]), v)
    y[2, i] = wp.cross(v, wp.vec3(wp.determinant(m[i]), wp.trace(m[i]), wp.length(v)))


@wp.kernel
def step(bodies: wp.array(dtype=Body), dt: float):
    i = wp.tid()
    b = bodies[i]
    b.speed = b.speed + wp.vec3(0.0, -9.81, 0.0) * dt
    b.at = b.at + b.speed * dt
    if b.at[1] < 0.0:
        b.at[1] = -b.at[1]
        b.speed = -0.5 * b.speed
    bodies[i] = b


@wp.kernel
def extremes(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_max(y, 0, x[i])
    wp.atomic_min(y, 1, x[i])
    n = x[i]
    steps = wp.int32(0)
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps >= 20:
            break
    wp.atomic_add(y, 2 + steps, 1)


@wp.kernel
def samples(seed: int, y: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    y[i] = wp.randf(state) + wp.float32(wp.randi(state, 0, 10))


def array(values: np.ndarray, known: Any, name: str, axes: int = 1, gradient: Any = None) -> bytes:
    """Return an array as Warp passes it; `axes`: those that are no vector or matrix."""
    pointers = [
        0 if each is None else known.add(Buffer(name, each.ctypes.data, each.nbytes, owner=each))
        for each, name in ((values, name), (gradient, f"gradient of {name}"))
    ]
    return bytes(array_t(*pointers, axes, values.shape[:axes], values.strides[:axes]))


def launch(
    kernel: Kernel, size: int, arguments: Sequence[Any], adjoints: Sequence[Any] = (), **how: Any
) -> None:
    """Launch as Warp does: with bounds, then the arguments, then their adjoints."""
    known = kernel.buffers()
    given: Iterator[Any] = (
        array(each[0], known, f"argument {i}", *each[1:]) if isinstance(each, tuple) else each
        for i, each in enumerate([*arguments, *adjoints])
    )
    bounds = bytes(launch_bounds_t((size,)))
    kernel.launch((-(-size // 32),), (32,), [bounds, *given], buffers=known, **how)
