"""Check the arguments of procedural operators: probability, seed, parameters of the weights, sizes."""

from numbers import Real
from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import FLOATS, INTEGERS, check_dtype, check_shape, is_known, reaches
from event_ops.checks.csr import matrix_shape
from event_ops.checks.inputs import as_input, in_dtype, is_number

# Distribution -> the shape of its parameters.
PARAMETERS: dict[str, tuple[int, ...]] = {"constant": (), "uniform": (2,), "normal": (2,)}

# Columns and draws are counted in 32 bits; a draw may go beyond the last column by the length of a table.
MAX_SIZE = (1 << 31) - (1 << 12)

# Neurons that draw numbers of one step are counted in 31 bits.
MAX_NEURONS = 1 << 31


def check_prob(prob: Any) -> float:
    """Return `prob` as a float; raise unless it is a number in [0, 1]."""
    if not isinstance(prob, Real):
        raise TypeError(
            f"prob is {prob!r}; expected a number known when the call is traced: a Python float; "
            "the table that it becomes is a constant of the compiled code"
        )
    number = float(prob)
    if not 0 <= number <= 1:
        raise ValueError(f"prob is {prob}; expected a probability, in [0, 1]")
    return number


def seed_word(seed: Any) -> jax.Array:
    """Return `seed` as a 0-d uint32, modulo 2**32 if it is an array; raise unless it is one integer."""
    if isinstance(seed, int) and not isinstance(seed, bool):
        if not 0 <= seed < 1 << 32:
            raise ValueError(f"seed is {seed}; expected an integer in [0, 2**32); use seed % 2**32")
        return in_dtype(seed, np.uint32)
    return _word("seed", seed, "one integer; use jax.vmap for one matrix per seed")


def step_word(step: Any, why: str) -> jax.Array:
    """Return the number of a step as a 0-d uint32, modulo 2**32; raise unless it is one integer."""
    return _word("step", step, why)


def _first_word(first: Any, size: Any) -> jax.Array:
    """Return the number of the first of `size` neurons as a 0-d uint32; raise unless 31 bits count all."""
    word = _word("first", first, "one neuron")
    if is_known(first):
        number = int(first)
        if number < 0 or reaches(number + size, MAX_NEURONS + 1):
            raise ValueError(
                f"first is {number}, for {size} neurons; expected first >= 0 and first + {size} <= 2**31: "
                "number the neurons of a population from 0 on, and give other populations another seed"
            )
    return word


def words_of_step(seed: Any, step: Any, first: Any, size: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the words from which `size` neurons, numbered from `first` on, draw in a time step."""
    time = step_word(step, "the number of one time step")
    return seed_word(seed), time, _first_word(first, size)


def _word(name: str, x: Any, why: str) -> jax.Array:
    """Return an integer as a 0-d uint32, modulo 2**32, however wide it is."""
    if isinstance(x, int | np.integer | np.ndarray) and not isinstance(x, bool):
        number = np.asarray(x)
        # NumPy has an object for an integer that 64 bits cannot hold.
        if number.ndim == 0 and number.dtype.kind in "iuO":
            return in_dtype(int(number) % (1 << 32), np.uint32)
    array = as_input(x, name)
    check_dtype(name, array, INTEGERS)
    check_shape(name, array, (), why=why)
    return array if array.dtype == np.uint32 else array.astype(np.uint32)


def weight_parameters(weight: Any, distribution: Any, dtype: Any) -> jax.Array:
    """Return `weight` as an array; raise unless the distribution takes its shape. Numbers become `dtype`."""
    if distribution not in PARAMETERS:
        raise ValueError(f"distribution is {distribution!r}; expected {' or '.join(map(repr, PARAMETERS))}")
    if isinstance(weight, (tuple, list)) and all(map(is_number, weight)):
        parameters: Any = np.array(weight, jax.dtypes.canonicalize_dtype(dtype))
    else:
        literal = isinstance(weight, (int, float, tuple, list))
        parameters = in_dtype(weight, dtype) if literal else as_input(weight)
    check_dtype("weight", parameters, FLOATS)
    why = {"constant": "one weight", "uniform": "(low, high)", "normal": "(mean, standard deviation)"}
    check_shape("weight", parameters, PARAMETERS[distribution], why=f"{distribution}: {why[distribution]}")
    return parameters


def procedural_shape(shape: Any) -> tuple[int, int]:
    """Return `shape` as two integers; raise ValueError unless 32 bits can count them."""
    rows, columns = matrix_shape(shape)
    if max(rows, columns) > MAX_SIZE:
        raise ValueError(f"shape is {shape!r}; expected at most {MAX_SIZE} rows and columns: use blocks")
    return rows, columns
