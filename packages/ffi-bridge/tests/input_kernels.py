"""Functions that write into an input, that may do so unseen, or that only read it."""

import ctypes

import numba
import numpy as np

clear = ctypes.CDLL(None).memset
clear.argtypes, clear.restype = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t], ctypes.c_void_p


@numba.njit
def subtract_mean(z):
    z -= z.mean()


def centred(x):
    z = np.ascontiguousarray(x)
    z -= z.mean()
    return z


def centred_by_a_callee(x):
    z = np.ascontiguousarray(x)
    subtract_mean(z)
    return z


def by_flat(x):
    x.flat[0] = 7
    return x.copy()


def by_an_iterator_of_elements(x):
    for element in np.nditer(x):
        element[()] = 7
    return x.copy()


def in_columns(x):
    z = np.asfortranarray(x.reshape(2, 2).T)
    z[0, 0] = 7
    return z.copy().reshape(4)


def on_the_diagonal(x):
    np.fill_diagonal(np.ascontiguousarray(x).reshape(2, 2), 7.0)
    return x.copy()


def sorted_in_place(x):
    np.ascontiguousarray(x).sort()
    return x.copy()


def shuffled(x):
    np.random.shuffle(np.ascontiguousarray(x))
    return x.copy()


@numba.njit
def results_of_a_long_function(x):
    count = 0
    for value in x.flat:
        count += value > 0
    return np.ascontiguousarray(x), x.sum() ** 2, count, x.reshape(2, 2).T  # a struct in memory, not inlined


def in_a_returned_tuple(x):
    z = results_of_a_long_function(x)[0]
    z[0] = 7
    return x.copy()


def in_a_returned_view(x):
    columns = results_of_a_long_function(x)[3]
    columns.flat[1] = 7
    return x.copy()


def in_one_case(x):
    z = np.ascontiguousarray(x)
    if z[0] > 1e9:
        z[0] = 7
    return z.copy()


def seen_as_integers(x):
    z = np.ascontiguousarray(x).view(np.int32)
    z[1:][0] = 7
    return x.copy()


def of_a_library(x):
    return np.nan_to_num(x, copy=False, nan=7.0).copy()


REFUSED = [
    centred,
    centred_by_a_callee,
    by_flat,
    by_an_iterator_of_elements,
    on_the_diagonal,
    sorted_in_place,
    shuffled,
    in_a_returned_tuple,
    in_a_returned_view,
    in_one_case,
    seen_as_integers,
    of_a_library,
]


def in_shares(x):
    z = np.ascontiguousarray(x)
    for i in numba.prange(z.size):
        z[i] = 7
    return z


def in_a_list(x):
    listed = [np.ascontiguousarray(x)]
    for array in listed:
        array[0] = 7
    return x.copy()


def in_a_typed_list(x):
    listed = numba.typed.List()
    listed.append(np.ascontiguousarray(x))
    listed[0][0] = 7
    return x.copy()


def in_a_tuple(x):
    for array in (np.ascontiguousarray(x), np.ascontiguousarray(x[1:])):
        array[0] = 7
    return x.copy()


def by_a_function_of_c(x):
    clear(x.ctypes, 0, 4)
    return x.copy()


def by_a_number(x):
    clear(x.ctypes.data + 4, 0, 4)
    return x.copy()


COPIED = [in_columns, in_a_list, in_a_typed_list, by_a_function_of_c, by_a_number]


def overlapping(x, y):
    y[:] = x


def products(x, y):
    square = x.reshape(2, 2)
    y[:] = np.dot(square, square).reshape(4) * np.linalg.norm(x) + np.dot(x, x)


def library_functions(x, y):
    y[:] = np.sort(x) + np.median(x) + np.cumsum(x) + np.linalg.inv(x.reshape(2, 2) + np.eye(2)).sum()


def elements_of_tuples(x, y):
    y[:] = 0
    for array in (x, x[1:]):
        y[0] += array[0]


def contiguous_for_reading(x, y):
    y[:] = np.ascontiguousarray(x) + np.asfortranarray(x) + np.atleast_1d(x) + np.ravel(x)
    for i, element in enumerate(x.flat):
        y[i] += element


def returned_by_a_long_function(x, y):
    z, total, count, columns = results_of_a_long_function(x)
    y[:] = z + total + count + columns.copy().reshape(4)


def iterators(x, y):
    square, columns = x.reshape(2, 2), x.reshape(2, 2).T
    y[:] = x[::-1] + x.ravel()
    for element in np.nditer(x):
        y[0] += element.item()
    for place, element in np.ndenumerate(square):
        y[place[0]] += element + columns.flat[place[1]]
    for i, j in np.ndindex(columns.shape):
        y[i] += columns[i, j]
    for row, back in zip(square, square[::-1]):  # noqa: B905
        y[1] += row[0] * back[1]


def shares(x, y):
    total = 0.0
    for i in numba.prange(x.size):
        y[i] = 2 * x[i]
        total += x[i]
    y[0] += total


ORDINARY = [
    overlapping,
    products,
    library_functions,
    elements_of_tuples,
    contiguous_for_reading,
    returned_by_a_long_function,
    iterators,
    shares,
]
