"""Particles and rays: sums over pairs, a deposit to a grid, marching through a volume, tracing of a surface.

`n_body`: leapfrog, with softened gravity. `deposit_and_gather`: clouds in cells, of particle-in-cell codes.
`ray_march`: emission and absorption, N. Max, IEEE TVCG 1 (1995) 99-108. `sphere_trace`: J. Hart, The Visual
Computer 12 (1996) 527-545.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from differentiable import Differentiable, struct

SOFTENING = 0.1
STEP, STEPS = 0.25, 60
NEAR, FAR, BLEND = 1e-12, 20.0, 8.0
TRACED = 200


@numba.njit
def accelerate(x, mass, a):
    a[:] = 0.0
    for i in range(mass.size):
        for j in range(i):
            dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            inverse = 1.0 / np.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING**2)
            pull = inverse * inverse * inverse
            for k, d in enumerate((dx, dy, dz)):
                a[i, k] += mass[j] * pull * d
                a[j, k] -= mass[i] * pull * d


@numba.njit
def n_body(x, v, mass, times, path):
    v, a = v.copy(), np.empty_like(x)
    path[0] = x
    accelerate(path[0], mass, a)
    for t in range(1, times.size):
        dt = times[t] - times[t - 1]
        v += 0.5 * dt * a
        path[t] = path[t - 1] + dt * v
        accelerate(path[t], mass, a)
        v += 0.5 * dt * a


@numba.njit
def deposit_and_gather(positions, charges, potential, density, forces):
    """Charges on a periodic grid, and the forces of a potential on them."""
    rows, columns = density.shape
    density[:, :] = 0.0
    for p in range(charges.size):
        x, y = positions[p]
        i, j = int(np.floor(x)), int(np.floor(y))
        fx, fy = x - i, y - j
        forces[p, 0] = forces[p, 1] = 0.0
        for di in range(2):
            for dj in range(2):
                weight = (fx if di else 1 - fx) * (fy if dj else 1 - fy)
                k, m = (i + di) % rows, (j + dj) % columns
                density[k, m] += charges[p] * weight
                slope_x = potential[(k + 1) % rows, m] - potential[(k - 1) % rows, m]
                slope_y = potential[k, (m + 1) % columns] - potential[k, (m - 1) % columns]
                forces[p, 0] -= 0.5 * charges[p] * weight * slope_x
                forces[p, 1] -= 0.5 * charges[p] * weight * slope_y


@numba.njit
def trilinear(volume, x, y, z):
    if not (0 <= x < volume.shape[0] - 1 and 0 <= y < volume.shape[1] - 1 and 0 <= z < volume.shape[2] - 1):
        return 0.0
    i, j, k = int(x), int(y), int(z)
    fx, fy, fz = x - i, y - j, z - k
    near = (volume[i, j, k] * (1 - fx) + volume[i + 1, j, k] * fx) * (1 - fy)
    near += (volume[i, j + 1, k] * (1 - fx) + volume[i + 1, j + 1, k] * fx) * fy
    far = (volume[i, j, k + 1] * (1 - fx) + volume[i + 1, j, k + 1] * fx) * (1 - fy)
    far += (volume[i, j + 1, k + 1] * (1 - fx) + volume[i + 1, j + 1, k + 1] * fx) * fy
    return near * (1 - fz) + far * fz


@numba.njit
def ray_march(volume, origins, directions, brightness):
    for ray in range(origins.shape[0]):
        x, y, z = origins[ray]
        dx, dy, dz = directions[ray]
        transmittance, total = 1.0, 0.0
        for _ in range(STEPS):
            density = trilinear(volume, x, y, z)
            opacity = 1.0 - np.exp(-density * STEP)
            total += transmittance * opacity * density
            transmittance *= 1.0 - opacity
            if transmittance < 1e-3:
                break
            x, y, z = x + STEP * dx, y + STEP * dy, z + STEP * dz
        brightness[ray] = total


@numba.njit
def distance_to_balls(balls, x, y, z):
    total = 0.0
    for b in range(balls.shape[0]):
        dx, dy, dz = x - balls[b, 0], y - balls[b, 1], z - balls[b, 2]
        total += np.exp(-BLEND * (np.sqrt(dx * dx + dy * dy + dz * dz) - balls[b, 3]))
    return -np.log(total) / BLEND


@numba.njit
def sphere_trace(balls, origins, directions, depths):
    """How far rays go until they meet balls that melt into each other; `FAR` for those that miss."""
    for ray in range(origins.shape[0]):
        x, y, z = origins[ray]
        dx, dy, dz = directions[ray]
        depth, traced = 0.0, 0
        distance = distance_to_balls(balls, x, y, z)
        while distance > NEAR and depth < FAR and traced < TRACED:
            depth += distance
            distance = distance_to_balls(balls, x + depth * dx, y + depth * dy, z + depth * dz)
            traced += 1
        depths[ray] = min(depth, FAR)


def n_body_in_jax(x, v, mass, times):
    def acceleration(x):
        d = x - x[:, None]
        squares = jnp.sum(d * d, axis=2, keepdims=True) + SOFTENING**2
        return jnp.sum(mass[:, None] * d * squares**-1.5, axis=1)

    def step(carry, dt):
        x, v, a = carry
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = acceleration(x)
        return (x, v + 0.5 * dt * a, a), x

    path = jax.lax.scan(step, (x, v, acceleration(x)), jnp.diff(times))[1]
    return jnp.concatenate([x[None], path])


def deposit_and_gather_in_jax(positions, charges, potential):
    corner = jnp.floor(positions)
    offsets = jnp.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    f = (positions - corner)[:, None]
    weights = charges[:, None] * jnp.prod(jnp.where(offsets == 1, f, 1 - f), axis=2)
    i, j = jnp.moveaxis((corner.astype(int)[:, None] + offsets) % jnp.array(potential.shape), 2, 0)
    slopes = [0.5 * (jnp.roll(potential, -1, k) - jnp.roll(potential, 1, k)) for k in (0, 1)]
    forces = jnp.stack([-jnp.sum(weights * slope[i, j], axis=1) for slope in slopes], axis=1)
    return jnp.zeros_like(potential).at[i, j].add(weights), forces


def ray_march_in_jax(volume, origins, directions):
    ends = jnp.array(volume.shape, float) - 1.0

    def densities(x):
        inside = jnp.all((x >= 0) & (x < ends), axis=1)
        points = jnp.where(inside[:, None], x, 0.0)
        return jnp.where(inside, jax.scipy.ndimage.map_coordinates(volume, points.T, order=1), 0.0)

    def step(carry, k):
        transmittance, total = carry
        density = densities(origins + k * STEP * directions)
        opacity = jnp.where(transmittance < 1e-3, 0.0, 1 - jnp.exp(-density * STEP))
        return (transmittance * (1 - opacity), total + transmittance * opacity * density), None

    start = jnp.ones(origins.shape[0]), jnp.zeros(origins.shape[0])
    return jax.lax.scan(step, start, jnp.arange(float(STEPS)))[0][1]


def sphere_trace_in_jax(balls, origins, directions):
    def distances(depths):
        x = origins + depths[:, None] * directions
        apart = jnp.linalg.norm(x[:, None] - balls[:, :3], axis=2) - balls[:, 3]
        return -jax.nn.logsumexp(-BLEND * apart, axis=1) / BLEND

    def step(depths, _):
        distance = distances(depths)
        return jnp.where((distance > NEAR) & (depths < FAR), depths + distance, depths), None

    depths = jax.lax.scan(step, jnp.zeros(origins.shape[0]), length=TRACED)[0]
    return jnp.minimum(depths, FAR)


def rays(rng, n, origin, target):
    """Rays from near `origin` to near `target`."""
    origins = origin + rng.normal(size=(n, 3)) * 0.1
    directions = target + rng.normal(size=(n, 3)) - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


KERNELS = [
    Differentiable(
        n_body,
        lambda rng, n: (*rng.normal(size=(2, n, 3)), rng.uniform(0.5, 1.5, n), np.linspace(0, 0.2, 11)),
        lambda x, v, mass, times: struct(*times.shape, *x.shape),
        n_body_in_jax,
        large=64,
    ),
    Differentiable(
        deposit_and_gather,
        lambda rng, n: (rng.uniform(-5, 20, (n, 2)), rng.normal(size=n), rng.normal(size=(12, 10))),
        lambda positions, charges, potential: (potential, positions),
        deposit_and_gather_in_jax,
        size=30,
        large=20_000,
    ),
    Differentiable(
        ray_march,
        lambda rng, n: (rng.uniform(0, 1.5, (9, 8, 7)), *rays(rng, n, -2.0, np.array([4.0, 4, 3]))),
        lambda volume, origins, directions: struct(*origins.shape[:1]),
        ray_march_in_jax,
        large=1000,
    ),
    Differentiable(
        sphere_trace,
        lambda rng, n: (
            np.hstack([rng.normal(size=(4, 3)), rng.uniform(0.5, 1, (4, 1))]),
            *rays(rng, n, np.array([0.0, 0, -6]), 0.0),
        ),
        lambda balls, origins, directions: struct(*origins.shape[:1]),
        sphere_trace_in_jax,
        large=500,
    ),
]
