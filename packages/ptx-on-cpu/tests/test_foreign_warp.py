"""Kernels of Warp and their adjoints give what NumPy gives, in every order of threads and blocks."""

from typing import Any

import foreign_warp as kernels
import numpy as np
import pytest
import warp as wp
from compile_kernels import ALL_CHECKS, of_warp
from foreign_kernels import Numbers, integers, normal

from ptx_on_cpu import Kernel

SIZE = kernels.SIZE
HOW = [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"parallel": True}]
every_order = pytest.mark.parametrize("how", HOW, ids=str)


def compiled(kernel: Any, direction: str = "forward") -> Kernel:
    kernel.module.options["block_dim"] = 32
    return of_warp(kernel.module).kernel(f"{kernel.get_mangled_name()}_cuda_kernel_{direction}", ALL_CHECKS)


@pytest.fixture(autouse=True)
def _same_numbers():
    Numbers.begin_anew()


@pytest.fixture(scope="module")
def of_name() -> dict[str, Kernel]:
    forward = {name: compiled(getattr(kernels, name)) for name in ("forces", "polynomial", "transforms")}
    forward |= {name: compiled(getattr(kernels, name)) for name in ("step", "extremes", "samples")}
    return forward | {"adjoint": compiled(kernels.polynomial, "backward")}


@pytest.mark.slow
@every_order
def test_vectors_attract_each_other(of_name, how):
    x, mass, y = normal(SIZE, 3), abs(normal(SIZE)), np.zeros((SIZE, 3), "f")
    kernels.launch(of_name["forces"], SIZE, [(x,), (mass,), (y,)], **how)
    d = x - x[:, None].astype("d")
    wanted = (d * (mass / (np.square(d).sum(-1) + 0.1) ** 1.5)[..., None]).sum(1)
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-3)


@every_order
def test_sums_by_atomics_and_their_adjoint(of_name, how):
    x, y = np.linspace(-2, 2, SIZE).astype("f"), np.zeros(7, "f")
    gradients, places = (np.zeros_like(x), np.arange(7).astype("f")), np.arange(SIZE) % 7
    kernels.launch(of_name["polynomial"], SIZE, [(x,), (y,)], **how)
    wanted = np.zeros(7)
    np.add.at(wanted, places, x * x * np.exp(-x))
    np.testing.assert_allclose(y, wanted, rtol=1e-5)
    arguments = [(x, 1, gradients[0]), (y, 1, gradients[1])]
    kernels.launch(of_name["adjoint"], SIZE, arguments, [(gradients[0],), (gradients[1],)], **how)
    wanted = gradients[1][places] * (2 * x - x * x) * np.exp(-x)
    np.testing.assert_allclose(gradients[0], wanted, rtol=1e-5, atol=1e-5)


@every_order
def test_matrices_and_quaternions_turn_vectors(of_name, how):
    m, q, y = normal(SIZE, 3, 3), normal(SIZE, 4), np.zeros((3, SIZE, 3), "f")
    kernels.launch(of_name["transforms"], SIZE, [(m,), (q,), (y, 2)], **how)
    v = np.array([1.0, 2, 3])
    unit = q / np.linalg.norm(q, axis=1, keepdims=True)
    axis, w = unit[:, :3], unit[:, 3:]
    turned = v + 2 * w * np.cross(axis, v) + 2 * np.cross(axis, np.cross(axis, v))
    other = np.stack([np.linalg.det(m), np.trace(m, axis1=1, axis2=2), np.full(SIZE, np.sqrt(14))], 1)
    wanted = [np.swapaxes(m, 1, 2) @ v + m @ m @ v, turned, np.cross(v, other)]
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


@every_order
def test_structures_move(of_name, how):
    bodies = np.zeros(SIZE, np.dtype([("at", "f", 3), ("speed", "f", 3), ("mass", "f")]))
    bodies["at"], bodies["speed"] = normal(SIZE, 3), normal(SIZE, 3)
    speed = bodies["speed"] - np.array([0, 9.81, 0], "f") * np.float32(0.1)
    at = bodies["at"] + speed * np.float32(0.1)
    below = at[:, 1] < 0
    at[below, 1] *= -1
    speed[below] *= -0.5
    kernels.launch(of_name["step"], SIZE, [(bodies,), np.float32(0.1)], **how)
    np.testing.assert_allclose(bodies["at"], at, atol=1e-6)
    np.testing.assert_allclose(bodies["speed"], speed, atol=1e-6)


@every_order
def test_extremes_and_loops_of_unknown_length(of_name, how):
    x, y = integers(1, 200, SIZE), np.zeros(23, np.int32)
    y[1] = 1000
    steps = np.zeros(SIZE, int)
    for i, n in enumerate(x.tolist()):
        while n > 1 and steps[i] < 20:
            n, steps[i] = (n // 2 if n % 2 == 0 else 3 * n + 1), steps[i] + 1
    kernels.launch(of_name["extremes"], SIZE, [(x,), (y,)], **how)
    np.testing.assert_array_equal(y, [x.max(), x.min(), *np.bincount(steps, minlength=21)])


def test_random_numbers_are_those_of_warp_on_a_cpu(of_name):
    y = np.zeros(SIZE, "f")
    kernels.launch(of_name["samples"], SIZE, [np.int32(7), (y,)])
    expected = wp.zeros(SIZE, dtype=float, device="cpu")
    wp.launch(kernels.samples, SIZE, [7, expected], device="cpu")
    np.testing.assert_array_equal(y, expected.numpy())
