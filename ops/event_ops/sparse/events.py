"""`Events`: marks an operand as events, so that a product only costs what the active ones cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array
from event_ops.checks.csr import check_encoded
from event_ops.sparse.arithmetic import no_array
from event_ops.sparse.pytree import register


@dataclass(frozen=True, eq=False, init=False)
class Events:
    """`A @ Events(x)`, `Events(x) @ A`: the products of a `CSR` or `ELL` over the active elements of x.

    Active is a bool that is True, which counts as 1, and a float that is not zero, which counts as its value;
    inactive elements contribute exactly 0, even where their weight is NaN. A pytree with one leaf.

    Args:
        values: (n,), or a matrix with one vector of events per column (per row in `Events(x) @ A`), or a
            stack of such matrices, with more axes in front; bool, float32 or float64. For ids and bits see
            `encoding`.
        encoding: "flags"; "ids", which are `spike_compact(spikes)[0]`; or "bits", the words
            `pack_events(spikes)`: as in `csr_event_matvec`.

    Raises:
        TypeError: values whose dtype does not fit the encoding.
        ValueError: values that are one number, or ids or bits that are not a vector.

    Example:
        >>> import numpy as np
        >>> from event_ops import CSR, Events
        >>> A = CSR.from_dense(np.array([[1, 0, 2], [0, 3, 0]], np.float32))
        >>> Events(np.array([True, False])) @ A  # row i: what neuron i sends
        Array([1., 0., 2.], dtype=float32)
    """

    values: jax.Array
    encoding: str

    def __init__(self, values: ArrayLike, encoding: str = "flags") -> None:
        if isinstance(values, list | tuple):
            raise TypeError(
                f"values is a {type(values).__name__}; expected an array: of what spike_compact returns, the "
                "first, which are the ids"
            )
        events = as_array(values)
        check_encoded("values", events, encoding)
        if events.ndim == 0 or (events.ndim > 1 and encoding != "flags"):
            raise ValueError(
                f"values has shape {events.shape}; expected a vector, or of flags a matrix of such vectors"
            )
        vars(self).update(values=events, encoding=encoding)

    # NumPy's arrays leave both products to the two methods.
    __array_ufunc__ = None
    __array__ = no_array("its array is events.values")

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


register(
    Events,
    ("values",),
    ("encoding",),
    "event_ops.Events",
    write=lambda static: static[0].encode(),
    read=lambda encoding: (encoding.decode(),),
)
