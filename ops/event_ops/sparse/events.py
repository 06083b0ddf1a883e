"""`Events`: marks an operand as events, so that the cost of a product follows the active ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import FLOATS, as_array
from event_ops.checks.csr import check_encoded
from event_ops.kernels.reference.spiking import as_ones
from event_ops.sparse.arithmetic import no_array, no_equality
from event_ops.sparse.pytree import register


@dataclass(frozen=True, eq=False, init=False)
class Events:
    """`A @ Events(x)`, `Events(x) @ A`: the products of a `CSR` or `ELL` over the active elements of x.

    Active is a bool that is True, which counts as 1, and a float or a count that is not zero, which counts as
    its value; inactive elements contribute exactly 0, even where their weight is NaN. A pytree with one leaf.

    Args:
        values: (n,), or a matrix with one vector of events per column (per row in `Events(x) @ A`), or a
            stack of such matrices, with more axes in front; bool, float32 or float64. For others see
            `encoding`.
        encoding: "flags"; "counts", integers, how many times each element counts; "ids", which are
            `spike_compact(spikes)[0]`; or "bits", the words `pack_events(spikes)`: as in `csr_event_matvec`.
            A matrix of ids or bits has such a vector per column (per row in `Events(x) @ A`), as `jax.vmap`
            of the two returns them, and costs what its vectors cost one by one.
        straight_through: values are floats, each of which that is not zero counts as 1, while derivatives are
            those of a product with the values themselves: `Events.values` becomes 0 and 1, with the
            derivative 1 in values, at inactive elements, too.

    Raises:
        TypeError: values whose dtype does not fit the encoding, or straight_through for others than floats.
        ValueError: values that are one number, or an unknown encoding.

    Example:
        >>> import numpy as np
        >>> from event_ops import CSR, Events
        >>> A = CSR.from_dense(np.array([[1, 0, 2], [0, 3, 0]], np.float32))
        >>> Events(np.array([True, False])) @ A  # row i: what neuron i sends
        Array([1., 0., 2.], dtype=float32)
    """

    values: jax.Array
    encoding: str

    def __init__(self, values: ArrayLike, encoding: str = "flags", *, straight_through: bool = False) -> None:
        if isinstance(values, list):
            raise TypeError("values is a list; expected an array: np.asarray(values)")
        if isinstance(values, tuple):
            raise TypeError(
                "values is a tuple; expected an array: of what spike_compact returns, the first, which are "
                "the ids"
            )
        events = as_array(values)
        check_encoded("values", events, encoding)
        if events.ndim == 0:
            raise ValueError("values has shape (); expected a vector, or a matrix of such vectors")
        if straight_through:
            if encoding != "flags" or events.dtype not in FLOATS:
                raise TypeError(
                    f"values has dtype {events.dtype} and encoding {encoding!r} with straight_through=True; "
                    "expected floats, which have a derivative, such as spikes of a step with surrogate=; or "
                    "leave it out"
                )
            events = as_ones(events)
        vars(self).update(values=events, encoding=encoding)

    # NumPy's arrays leave both products to the two methods.
    __array_ufunc__ = None
    __array__ = no_array("its array is events.values; a product with a sparse matrix S is events @ CSR(S)")
    __eq__ = no_equality("jnp.array_equal(A.values, B.values)")
    __hash__ = object.__hash__

    def __matmul__(self, other: Any) -> Any:
        """Refuse a dense matrix; sparse matrices multiply with events by methods of their own."""
        return _refuse_dense(other, "transpose=True")

    def __rmatmul__(self, other: Any) -> Any:
        """Refuse a dense matrix, as `__matmul__` does."""
        return _refuse_dense(other, "transpose=False")

    @property
    def T(self) -> Events:
        """The events with their last two axes swapped; a vector as it is."""
        return self if self.values.ndim == 1 else jax.tree.map(lambda x: x.mT, self)


def _refuse_dense(other: Any, orientation: str) -> Any:
    if isinstance(other, np.ndarray | jax.Array):
        raise TypeError(
            "the product of Events with a dense array is dense_event_matvec(weights, events, "
            f"{orientation}); `@` is for a CSR or ELL"
        )
    return NotImplemented


register(Events, ("values",), ("encoding",), "event_ops.Events")
