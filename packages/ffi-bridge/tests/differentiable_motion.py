"""Equations of motion, integrated in loops.

`lorenz`: E. Lorenz, Journal of the Atmospheric Sciences 20 (1963) 130-141, by the pair of P. Bogacki and
L. Shampine, Applied Mathematics Letters 2 (1989) 321-325. `boris_push`: C. Birdsall and A.
Langdon, Plasma Physics via Computer Simulation (1985), 4-4.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from differentiable import Differentiable, struct

RELATIVE_TOLERANCE = 1e-4
ATTEMPTS = 12  # of steps between two times of the path, which the twin must bound


@numba.njit
def kuramoto(theta, omega, coupling, times, path):
    n = theta.size
    path[0] = theta
    for t in range(1, times.size):
        dt = times[t] - times[t - 1]
        for i in range(n):
            pull = 0.0
            for j in range(n):
                pull += np.sin(path[t - 1, j] - path[t - 1, i])
            path[t, i] = path[t - 1, i] + dt * (omega[i] + coupling / n * pull)


@numba.njit
def lorenz_slope(u, parameters, slope):
    sigma, rho, beta = parameters
    slope[0] = sigma * (u[1] - u[0])
    slope[1] = u[0] * (rho - u[2]) - u[1]
    slope[2] = u[0] * u[1] - beta * u[2]


@numba.njit
def lorenz(start, parameters, times, path):
    u, dt = start.copy(), 0.01
    k1, k2, k3, k4 = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    path[0] = u
    for i in range(1, times.size):
        t = times[i - 1]
        while t < times[i]:
            last = t + dt >= times[i]
            step = times[i] - t if last else dt
            lorenz_slope(u, parameters, k1)
            lorenz_slope(u + 0.5 * step * k1, parameters, k2)
            lorenz_slope(u + 0.75 * step * k2, parameters, k3)
            new = u + step * (2 * k1 + 3 * k2 + 4 * k3) / 9
            lorenz_slope(new, parameters, k4)
            error = 0.0
            for k in range(3):
                part = step * (-5 * k1[k] / 72 + k2[k] / 12 + k3[k] / 9 - k4[k] / 8)
                error += (part / (RELATIVE_TOLERANCE * (1.0 + abs(u[k])))) ** 2
            error = np.sqrt(error / 3)
            if error <= 1.0:
                t = times[i] if last else t + step
                u = new
            if error > 1.0 or not last:
                dt = step * min(5.0, max(0.2, 0.9 * max(error, 1e-8) ** (-1 / 3)))
        path[i] = u


@numba.njit
def pendulum_slope(a, b, p, q, length):
    difference = a - b
    mass = 2.0 - np.cos(difference) ** 2
    c, s = np.cos(difference), np.sin(difference)
    g = 9.81 / length
    dp = (-2 * g * np.sin(a) + g * np.sin(b) * c - s * (q * q + p * p * c)) / mass
    dq = (2 * g * (np.sin(a) * c - np.sin(b)) + s * (2 * p * p + q * q * c)) / mass
    return p, q, dp, dq


@numba.njit
def double_pendulum(start, length, times, path):
    """Two equal masses on rods of equal lengths: angles and their rates, by Runge and Kutta's method."""
    a, b, p, q = start
    path[0, 0], path[0, 1], path[0, 2], path[0, 3] = a, b, p, q
    for t in range(1, times.size):
        dt = times[t] - times[t - 1]
        a1, b1, p1, q1 = pendulum_slope(a, b, p, q, length)
        h = dt / 2
        a2, b2, p2, q2 = pendulum_slope(a + h * a1, b + h * b1, p + h * p1, q + h * q1, length)
        a3, b3, p3, q3 = pendulum_slope(a + h * a2, b + h * b2, p + h * p2, q + h * q2, length)
        a4, b4, p4, q4 = pendulum_slope(a + dt * a3, b + dt * b3, p + dt * p3, q + dt * q3, length)
        a += dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        b += dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        p += dt / 6 * (p1 + 2 * p2 + 2 * p3 + p4)
        q += dt / 6 * (q1 + 2 * q2 + 2 * q3 + q4)
        path[t, 0], path[t, 1], path[t, 2], path[t, 3] = a, b, p, q


@numba.njit
def van_der_pol(start, mu, times, path):
    """x' = y, y' = mu (1 - x^2) y - x, by implicit Euler; each step by Newton's method."""
    x, y = start
    path[0, 0], path[0, 1] = x, y
    for t in range(1, times.size):
        dt = times[t] - times[t - 1]
        x0, y0 = x, y
        change = 1.0
        while change > 1e-12:
            f = x - x0 - dt * y
            g = y - y0 - dt * (mu * (1 - x * x) * y - x)
            gx, gy = dt * (2 * mu * x * y + 1), 1 - dt * mu * (1 - x * x)
            determinant = gy + dt * gx
            dx, dy = (gy * f + dt * g) / determinant, (g - gx * f) / determinant
            x -= dx
            y -= dy
            change = abs(dx) + abs(dy)
        path[t, 0], path[t, 1] = x, y


@numba.njit
def boris_push(x, v, charge_to_mass, E, B, dt, x_new, v_new):
    """Particles in fields that are uniform in space and change with time."""
    for p in range(x.shape[0]):
        px, py, pz = x[p]
        vx, vy, vz = v[p]
        half = 0.5 * charge_to_mass[p] * dt
        for s in range(E.shape[0]):
            vx, vy, vz = vx + half * E[s, 0], vy + half * E[s, 1], vz + half * E[s, 2]
            tx, ty, tz = half * B[s, 0], half * B[s, 1], half * B[s, 2]
            scale = 2 / (1 + tx * tx + ty * ty + tz * tz)
            ux, uy, uz = vx + vy * tz - vz * ty, vy + vz * tx - vx * tz, vz + vx * ty - vy * tx
            vx += scale * (uy * tz - uz * ty)
            vy += scale * (uz * tx - ux * tz)
            vz += scale * (ux * ty - uy * tx)
            vx, vy, vz = vx + half * E[s, 0], vy + half * E[s, 1], vz + half * E[s, 2]
            px, py, pz = px + dt * vx, py + dt * vy, pz + dt * vz
        x_new[p, 0], x_new[p, 1], x_new[p, 2] = px, py, pz
        v_new[p, 0], v_new[p, 1], v_new[p, 2] = vx, vy, vz


def through(step, start, times):
    """Return the path of `step(state, dt)` from `start`, by a scan."""

    def body(state, dt):
        state = step(state, dt)
        return state, state

    return jnp.concatenate([start[None], jax.lax.scan(body, start, jnp.diff(times))[1]])


def kuramoto_in_jax(theta, omega, coupling, times):
    def step(theta, dt):
        return theta + dt * (omega + coupling * jnp.sin(theta - theta[:, None]).mean(axis=1))

    return through(step, theta, times)


def lorenz_in_jax(start, parameters, times):
    sigma, rho, beta = parameters

    def slope(u):
        x, y, z = u
        return jnp.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    def attempt(carry, _):
        def advance(u, dt, t, end):
            last = t + dt >= end
            step = jnp.where(last, end - t, dt)
            k1 = slope(u)
            k2 = slope(u + 0.5 * step * k1)
            k3 = slope(u + 0.75 * step * k2)
            new = u + step * (2 * k1 + 3 * k2 + 4 * k3) / 9
            difference = step * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - slope(new) / 8)
            error = jnp.sqrt(jnp.mean((difference / (RELATIVE_TOLERANCE * (1.0 + jnp.abs(u)))) ** 2))
            changed = step * jnp.clip(0.9 * jnp.maximum(error, 1e-8) ** (-1 / 3), 0.2, 5.0)
            t = jnp.where(error > 1.0, t, jnp.where(last, end, t + step))
            dt = jnp.where((error > 1.0) | ~last, changed, dt)
            return jnp.where(error > 1.0, u, new), dt, t, end

        u, dt, t, end = carry
        return jax.lax.cond(t < end, advance, lambda *same: same, u, dt, t, end), None

    def interval(carry, ends):
        (u, dt, _, _), _ = jax.lax.scan(attempt, (*carry, *ends), length=ATTEMPTS)
        return (u, dt), u

    path = jax.lax.scan(interval, (start, jnp.array(0.01)), (times[:-1], times[1:]))[1]
    return jnp.concatenate([start[None], path])


def double_pendulum_in_jax(start, length, times):
    def slope(state):
        return jnp.stack(pendulum_slope_in_jax(*state, length))

    def step(state, dt):
        k1 = slope(state)
        k2 = slope(state + dt / 2 * k1)
        k3 = slope(state + dt / 2 * k2)
        k4 = slope(state + dt * k3)
        return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return through(step, start, times)


def pendulum_slope_in_jax(a, b, p, q, length):
    c, s, g = jnp.cos(a - b), jnp.sin(a - b), 9.81 / length
    dp = -2 * g * jnp.sin(a) + g * jnp.sin(b) * c - s * (q * q + p * p * c)
    dq = 2 * g * (jnp.sin(a) * c - jnp.sin(b)) + s * (2 * p * p + q * q * c)
    return p, q, dp / (2 - c**2), dq / (2 - c**2)


def van_der_pol_in_jax(start, mu, times):
    """The twin: `custom_root` differentiates the equation, not the iteration."""

    def step(before, dt):
        def residual(state):
            x, y = state
            return state - before - dt * jnp.stack([y, mu * (1 - x * x) * y - x])

        def newton(f, state):
            def improved(carry):
                change = jnp.linalg.solve(jax.jacobian(f)(carry[0]), f(carry[0]))
                return carry[0] - change, jnp.abs(change).sum()

            return jax.lax.while_loop(lambda carry: carry[1] > 1e-12, improved, (state, 1.0))[0]

        def tangent_solve(linear, y):
            return jnp.linalg.solve(jax.jacobian(linear)(y), y)

        return jax.lax.custom_root(residual, before, newton, tangent_solve)

    return through(step, start, times)


def boris_push_in_jax(x, v, charge_to_mass, E, B, dt):
    half = 0.5 * dt * charge_to_mass[:, None]

    def step(carry, fields):
        (x, v), (E, B) = carry, fields
        v, t = v + half * E, half * B
        u = v + jnp.cross(v, t)
        v = v + jnp.cross(u, 2 * t / (1 + (t * t).sum(axis=1, keepdims=True))) + half * E
        return (x + dt * v, v), None

    return jax.lax.scan(step, (x, v), (E, B))[0]


def rows_of_times(width):
    return lambda *ins: struct(*ins[-1].shape, width)


KERNELS = [
    Differentiable(
        kuramoto,
        lambda rng, n: (rng.uniform(0, 6, n), rng.normal(size=n), 1.5, np.linspace(0, 1, 21)),
        lambda theta, omega, coupling, times: struct(*times.shape, *theta.shape),
        kuramoto_in_jax,
        scalars=("coupling",),
        large=64,
    ),
    Differentiable(
        lorenz,
        lambda rng, n: (rng.normal(size=3), np.array([10.0, 28.0, 8 / 3]), np.linspace(0, 0.05 * n, n)),
        rows_of_times(3),
        lorenz_in_jax,
        size=12,
        large=200,  # it is chaotic
    ),
    Differentiable(
        double_pendulum,
        lambda rng, n: (rng.normal(size=4), 1.2, np.linspace(0, 0.02 * n, n)),
        rows_of_times(4),
        double_pendulum_in_jax,
        scalars=("length",),
        size=20,
        large=2000,
    ),
    Differentiable(
        van_der_pol,
        lambda rng, n: (rng.normal(size=2), 8.0, np.linspace(0, 0.05 * n, n)),
        rows_of_times(2),
        van_der_pol_in_jax,
        scalars=("mu",),
        size=20,
        large=5000,
    ),
    Differentiable(
        boris_push,
        lambda rng, n: (*rng.normal(size=(2, n, 3)), rng.normal(size=n), *rng.normal(size=(2, 10, 3)), 0.1),
        lambda x, v, *_: (x, v),
        boris_push_in_jax,
        scalars=("dt",),
        large=2000,
    ),
]
