"""The reverse mode of `lorenz` by hand: an attempt keeps its state, time and step, and not its stages."""

import numba
import numpy as np
from differentiable_motion import RELATIVE_TOLERANCE, lorenz_slope

STAGES = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.75, 0.0], [2 / 9, 3 / 9, 4 / 9]])
ERROR = np.array([-5 / 72, 1 / 12, 1 / 9, -1 / 8])
njit = numba.njit(fastmath=True, error_model="numpy")


@njit
def attempt(t, dt, end, parameters, x, k):
    """Compute the stages `x` of a step from x[0], and their slopes `k`; return length, is last, error."""
    last = t + dt >= end
    step, error = end - t if last else dt, 0.0
    for s in range(4):
        for c in range(3):
            if s > 0:
                x[s, c] = x[0, c]
                for r in range(s):
                    x[s, c] += step * STAGES[s, r] * k[r, c]
        lorenz_slope(x[s], parameters, k[s])
    for c in range(3):
        part = 0.0
        for s in range(4):
            part += step * ERROR[s] * k[s, c]
        error += (part / (RELATIVE_TOLERANCE * (1.0 + abs(x[0, c])))) ** 2
    return step, last, np.sqrt(error / 3)


@njit
def lorenz(start, parameters, times, path, states, attempts):
    x, k, dt = np.empty((4, 3)), np.empty((4, 3)), 0.01
    x[0], path[0], attempts[0] = start, start, 0
    for i in range(1, times.size):
        t, a = times[i - 1], 0
        while t < times[i]:
            if a == states.shape[1]:
                raise ValueError("a step has more attempts than are kept")
            states[i, a, 0], states[i, a, 1] = t, dt
            states[i, a, 2:] = x[0]
            step, last, error = attempt(t, dt, times[i], parameters, x, k)
            if error <= 1.0:
                t = times[i] if last else t + step
                x[0] = x[3]
            if error > 1.0 or not last:
                dt = step * min(5.0, max(0.2, 0.9 * max(error, 1e-8) ** (-1 / 3)))
            a += 1
        path[i], attempts[i] = x[0], a


@njit
def back_slope(u, parameters, slope_bar, u_bar, parameters_bar):
    sigma, rho, beta = parameters
    u_bar[0] += (rho - u[2]) * slope_bar[1] + u[1] * slope_bar[2] - sigma * slope_bar[0]
    u_bar[1] += sigma * slope_bar[0] - slope_bar[1] + u[0] * slope_bar[2]
    u_bar[2] -= u[0] * slope_bar[1] + beta * slope_bar[2]
    parameters_bar[0] += (u[1] - u[0]) * slope_bar[0]
    parameters_bar[1] += u[0] * slope_bar[1]
    parameters_bar[2] -= u[2] * slope_bar[2]


@njit
def back_attempt(step, error, error_bar, parameters, x, k, x_bar, k_bar, u_bar, d_parameters):
    """Go back through the stages of an attempt, whose result has x_bar[3]; return what the step has."""
    step_bar = 0.0
    for c in range(3):
        scale, part = 1.0 + abs(x[0, c]), 0.0
        for s in range(4):
            part += ERROR[s] * k[s, c]
        part *= step / (RELATIVE_TOLERANCE * scale)
        part_bar = error_bar * part / (3 * error)
        u_bar[c] -= part_bar * part / scale * np.sign(x[0, c])
        step_bar += part_bar * part / step
        for s in range(4):
            k_bar[s, c] = part_bar * step / (RELATIVE_TOLERANCE * scale) * ERROR[s]
    for s in range(3, 0, -1):
        back_slope(x[s], parameters, k_bar[s], x_bar[s], d_parameters)
        for c in range(3):
            u_bar[c] += x_bar[s, c]
            for r in range(s):
                step_bar += x_bar[s, c] * STAGES[s, r] * k[r, c]
                k_bar[r, c] += x_bar[s, c] * STAGES[s, r] * step
    back_slope(x[0], parameters, k_bar[0], u_bar, d_parameters)
    return step_bar


@njit
def back_lorenz(start, parameters, times, path, states, attempts, path_bar, u_bar, d_parameters, d_times):
    x, k, x_bar, k_bar = np.empty((4, 3)), np.empty((4, 3)), np.zeros((4, 3)), np.empty((4, 3))
    u_bar[:], d_parameters[:], d_times[:], dt_bar = 0.0, 0.0, 0.0, 0.0
    for i in range(times.size - 1, 0, -1):
        u_bar += path_bar[i]
        t_bar = 0.0
        for a in range(attempts[i] - 1, -1, -1):
            x[0] = states[i, a, 2:]
            step, last, error = attempt(states[i, a, 0], states[i, a, 1], times[i], parameters, x, k)
            step_bar = error_bar = 0.0
            if error > 1.0 or not last:
                factor = 0.9 * max(error, 1e-8) ** (-1 / 3)
                step_bar = dt_bar * min(5.0, max(0.2, factor))
                if 0.2 < factor < 5.0 and error > 1e-8:
                    error_bar = -dt_bar * step * factor / (3 * error)
                dt_bar = 0.0
            x_bar[:] = 0.0
            if error <= 1.0:
                x_bar[3], u_bar[:] = u_bar, 0.0
                if last:
                    d_times[i] += t_bar
                    t_bar = 0.0
                step_bar += t_bar
            step_bar += back_attempt(
                step, error, error_bar, parameters, x, k, x_bar, k_bar, u_bar, d_parameters
            )
            if last:
                d_times[i] += step_bar
                t_bar -= step_bar
            else:
                dt_bar += step_bar
        d_times[i - 1] += t_bar
    u_bar += path_bar[0]
