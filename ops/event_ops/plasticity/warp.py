"""A rule applied by Warp to the synapses of the neurons that spiked, in place: a thread for each row."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import warp as wp

from event_ops.codegen.emit import array_names, defined, filled, tables_of
from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import WARP
from event_ops.kernels.warp.access import Array, as_vectors, bounded, is_active, place
from event_ops.plasticity.emit import COLUMNS, DENSE_COLUMNS, DENSE_ROWS, ROWS, STORAGES, Storage, changes
from ffi_bridge import warp_kernel

_KEPT = 1024  # rules

# The loop around the changes of a synapse.
_SPARSE = """\
spiking = wp.tid()
nse = ids.shape[0]
if is_active(spikes[spiking]):
    for p in range(bounded(indptr[spiking], nse), bounded(indptr[spiking + 1], nse)):
        other = place(ids[p], wp.int32(limit[0]))
        k = {place}
        if other >= 0 and k >= 0:
            {{changes}}"""
_DENSE = """\
i, j = wp.tid()
spiking = {spiking}
other = {other}
columns = {columns}
k = i * columns + j
if is_active(spikes[spiking]):
    {{changes}}"""
_VISITS = {
    ROWS: _SPARSE.format(place="p"),
    COLUMNS: _SPARSE.format(place="place(permutation[p], nse)"),
    DENSE_ROWS: _DENSE.format(spiking="i", other="j", columns="a0.shape[0] // spikes.shape[0]"),
    DENSE_COLUMNS: _DENSE.format(spiking="j", other="i", columns="spikes.shape[0]"),
}


@lru_cache(_KEPT)
def kernel(rule: Traced, storage: Storage) -> Any:
    """Return the kernel of a rule, which changes the synapses in place."""
    arrays = array_names(rule)
    names = *arrays[: rule.count], *storage.structure, *arrays[rule.count :]
    body = filled(_VISITS[storage], changes=changes(rule, WARP))
    called = {"wp": wp, "Array": Array, "bounded": bounded, "is_active": is_active, "place": place}
    called |= as_vectors(tables_of(rule))
    function = defined(storage.name, [f"{name}: Array" for name in names], body, **called)
    # As in `neurons/warp.py`.
    return wp.kernel(function, enable_backward=False, module="unique")


def build(*, rule: Traced, outs: Any, storage: str, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for synapses that are stored so; shape is that of the matrix."""
    stored, changed = STORAGES[storage], array_names(rule)[: rule.count]
    spikes = rule.count + stored.structure.index("spikes")

    def call(*arrays: Any) -> Any:
        dims = arrays[spikes].shape if stored in (ROWS, COLUMNS) else shape
        flat = tuple(jax.ShapeDtypeStruct((x.size,), x.dtype) for x in outs)
        run = warp_kernel(kernel(rule, stored), flat, launch_dims=dims, in_out_argnames=changed)
        results = run(*(x.reshape(-1) if x.ndim == 2 else x for x in arrays))
        return tuple(x.reshape(out.shape) for x, out in zip(results, outs, strict=True))

    return call
