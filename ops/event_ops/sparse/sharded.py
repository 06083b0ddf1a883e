"""`shard_csr`: distribute the rows of a CSR matrix over the devices of a mesh, and multiply there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar, TypeVar, overload

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jax.typing import ArrayLike

from event_ops.checks.arrays import as_array, check_countable, check_kept, check_shape
from event_ops.checks.packed_entries import are_narrow
from event_ops.sparse.arithmetic import no_array, no_equality
from event_ops.sparse.compact import CompactCSR
from event_ops.sparse.compact_convert import narrowed
from event_ops.sparse.csr import CSR
from event_ops.sparse.events import Events
from event_ops.sparse.partition import balanced_starts, check_starts, numbers_of, padded, stored, stored_codes
from event_ops.sparse.products import check_factor

Block = TypeVar("Block", CSR, CompactCSR)


@dataclass(frozen=True, eq=False, repr=False)
class Sharded:
    """A matrix by shards without its entries, which subclasses have: how its rows are cut, its products."""

    block_shape: tuple[int, int]
    transposed: bool
    starts: tuple[int, ...]
    mesh: Mesh
    axis: str

    __array_ufunc__: ClassVar[None] = None
    __array__ = no_array("A @ x is in blocks, and A.gather(A @ x) one array")
    __eq__ = no_equality("jnp.array_equal of their arrays")
    __hash__ = object.__hash__

    def local(self) -> Any:
        """Return the rows of this shard, padded to `block_shape`; inside `jax.shard_map` only."""
        raise NotImplementedError

    def _block(self, kind: type[Block], *arrays: jax.Array) -> Block:
        shape = self.block_shape[::-1] if self.transposed else self.block_shape
        A: Any = kind(*(x[0] for x in arrays), shape=shape)
        return A.T if self.transposed else A

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the whole matrix."""
        return self.starts[-1], self.block_shape[1]

    def __repr__(self) -> str:
        rows, columns = self.shape
        shards = len(self.starts) - 1
        return (
            f"{type(self).__name__}({rows} x {columns}, {shards} shard{'s' * (shards != 1)} along "
            f"{self.axis!r}, A @ v of shape {(shards, self.block_shape[0])})"
        )

    def __matmul__(self, x: Any) -> jax.Array:
        check_factor(x, self.shape, left=False)
        sizes = np.shape(x.values if isinstance(x, Events) else x)
        if len(sizes) > 2:
            raise ValueError(f"x has shape {sizes}; expected a vector or a matrix: jax.vmap is for more axes")
        return _times(self, x)

    def __rmatmul__(self, x: Any) -> jax.Array:
        blocks = x.values if isinstance(x, Events) else x
        shape = (len(self.starts) - 1, self.block_shape[0])
        if np.shape(blocks) != shape:
            raise ValueError(
                f"x has shape {np.shape(blocks)}; expected {shape}, a block per shard: A.scatter(x)"
            )
        return _before(x, self)

    def scatter(self, x: ArrayLike) -> jax.Array:
        """Cut an array, one element or row per row of A, into padded blocks, (shards, block rows, ...).

        Each process only sends the blocks of its own devices.
        """
        if isinstance(x, Tracer):
            raise TypeError("x is traced; expected a known array: scatter it outside, and pass its blocks")
        whole: Any = np.asarray(x)
        check_shape("x", whole, (self.shape[0], *whole.shape[1:]), why="one element per row of A")

        def block(k: int) -> Any:
            part = whole[self.starts[k] : self.starts[k + 1]]
            padding = np.zeros((self.block_shape[0] - len(part), *whole.shape[1:]), whole.dtype)
            return np.concatenate([part, padding])

        return _by_shard(block, self.mesh, self.axis)

    def gather(self, blocks: jax.Array) -> Any:
        """Return blocks as a NumPy array, (rows, ...): an all-gather, in which every process takes part."""
        if isinstance(blocks, Tracer):
            raise TypeError("blocks are traced; expected a known array: return them, and gather them outside")
        whole = np.asarray(jax.device_put(blocks, NamedSharding(self.mesh, P())))
        sizes = np.diff(self.starts)
        return np.concatenate([block[:size] for block, size in zip(whole, sizes, strict=True)])


_FIELDS = ["block_shape", "transposed", "starts", "mesh", "axis"]


@partial(jax.tree_util.register_dataclass, data_fields=["data", "indices", "indptr"], meta_fields=_FIELDS)
@dataclass(frozen=True, eq=False, repr=False)
class ShardedCSR(Sharded):
    """The rows of a CSR matrix, a contiguous block on each shard of a mesh axis; see `shard_csr`.

    `A @ v` and `A @ Events(x)` take v or x whole on every device, and give blocks, (shards, block rows):
    nothing is communicated. `x @ A` and `Events(x) @ A` take blocks, and give the sum over the shards, whole
    on every device: one all-reduce of `columns` numbers. `scatter` makes blocks of a vector and `gather` a
    vector of blocks. A pytree, so an argument of any transformed function; in a `jax.shard_map` of your
    own its specification is `P(axis)`, and `A.local()` is the `CSR` of this shard.
    """

    data: jax.Array  # (shards, nse of a block), or (shards,): one weight for all entries
    indices: jax.Array  # (shards, nse of a block)
    indptr: jax.Array  # (shards, rows of a block + 1), or where stored transposed (shards, columns + 1)

    def local(self) -> CSR:
        """Return the rows of this shard, padded to `block_shape`, as a `CSR`; inside `jax.shard_map` only."""
        return self._block(CSR, self.data, self.indices, self.indptr)

    def with_data(self, data: ArrayLike) -> ShardedCSR:
        """Return the matrix with new weights, in the shape of `data`; padding has no effect."""
        weights = as_array(data)
        check_shape("data", weights, self.data.shape, why="weights by shard, as in the attribute `data`")
        return replace(self, data=weights)


@partial(jax.tree_util.register_dataclass, data_fields=["entries", "indptr", "scale"], meta_fields=_FIELDS)
@dataclass(frozen=True, eq=False, repr=False)
class ShardedCompactCSR(Sharded):
    """The rows of a `CompactCSR`, a contiguous block on each shard of a mesh axis; see `shard_csr`.

    It has the products of a `ShardedCSR`, and is as much of a pytree; `A.local()` is the `CompactCSR` of this
    shard.
    """

    entries: jax.Array  # (shards, nse of a block), uint32 or uint16
    indptr: jax.Array  # (shards, rows of a block + 1), or where stored transposed (shards, columns + 1); or
    # of uint16 (shards, parts, ...), for parts of the columns as they are stored
    scale: jax.Array  # (shards,), or one for each row as it is stored, (shards, rows of indptr)

    def local(self) -> CompactCSR:
        """Return the rows of this shard, padded to `block_shape`; inside `jax.shard_map` only."""
        return self._block(CompactCSR, self.entries, self.indptr, self.scale)


@overload
def shard_csr(  # pyright: ignore[reportOverlappingOverload]
    A: CompactCSR, mesh: Mesh, axis: str, *, starts: Sequence[int] | None = None
) -> ShardedCompactCSR: ...


@overload
def shard_csr(A: Any, mesh: Mesh, axis: str, *, starts: Sequence[int] | None = None) -> ShardedCSR: ...


@overload
def shard_csr(A: Any, *mesh_and_axis: Any, return_order: bool, **options: Any) -> Any: ...


def shard_csr(
    A: Any, mesh: Mesh, axis: str, *, starts: Sequence[int] | None = None, return_order: bool = False
) -> Any:
    """`(A @ v)[starts[k] : starts[k + 1]]` on shard k: a CSR matrix by blocks of rows with balanced nse.

    Without `starts`, block k begins at the first row that has at least k / shards of all entries before it:
    so a block has fewer entries than nse / shards + the longest row. Blocks are padded to equal rows and
    equal nse. Padding is inert: a padded row is empty, and a padded entry has weight 0, a column out of range
    and a place behind the end of indptr, each of which alone keeps it out of a product and of a derivative.

    A is kept as it is stored. `shard_csr(A.T, ...)` of rows that are presynaptic neurons gives each shard the
    synapses onto its own rows of A.T, its postsynaptic neurons, still by presynaptic row: so
    `A @ Events(spikes)` of the result costs what the spikes cost, and needs the spikes of all neurons, the
    cheapest thing to exchange.

    With several processes (`jax.distributed`) each calls this with the same A and makes its own blocks only;
    a SciPy matrix of memory-mapped arrays is then read where those blocks are.

    Args:
        A: a `CSR` or a `CompactCSR`, also transposed, or a SciPy CSR matrix or array; known, not traced. Of a
            compact matrix, each block of columns has words of its own, and weights do not change.
        mesh: the devices.
        axis: the mesh axis over which the rows are split; over others they are repeated.
        starts: (shards + 1,), the first row of each shard and the end, for matrices that have to share one
            partition of a population; default: balanced nse.
        return_order: return `(matrix, order)`; order: (shards, nse of a block), with the sharding of data:
            entry [k, e] is entry order[k, e] of A; for padding A.nse, which is out of range.

    Returns:
        A `ShardedCSR`, or a `ShardedCompactCSR`, with arrays of sharding P(axis).

    Raises:
        TypeError: return_order of a `CompactCSR`, whose words have no attributes.
        ValueError: no such axis, starts that do not cut the rows, or a matrix that is traced or broken.
    """
    if axis not in mesh.shape:
        raise ValueError(f"axis is {axis!r}; expected one of the mesh: {', '.join(map(repr, mesh.shape))}")
    compact = isinstance(A, CompactCSR)
    if compact and return_order:
        raise TypeError(
            "return_order=True, and A is a CompactCSR; expected a CSR, whose entries have an order"
        )
    whole, shards = stored_codes(A) if compact else stored(A), mesh.shape[axis]
    ends = whole.ends()
    cuts = balanced_starts(ends, shards) if starts is None else check_starts(starts, whole.shape[0], shards)
    rows, nse = int(np.diff(cuts).max()), int(np.diff(ends[list(cuts)]).max())
    check_countable(nse, "entries of one shard, of which more would have fewer")
    check_countable(whole.shape[1], "columns")
    # Each array of the result asks for the blocks anew: they are cut once.
    part = cache(lambda k: whole.rows(cuts[k], cuts[k + 1]))
    block = cache(lambda k: part(k).padded(rows, nse))
    cut = (rows, whole.shape[1]), whole.transposed, cuts, mesh, axis
    shared = partial(_by_shard, mesh=mesh, axis=axis)
    if not compact:
        data, indices = shared(lambda k: block(k).data), shared(lambda k: block(k).indices)
        sharded = ShardedCSR(*cut, data, indices, shared(lambda k: block(k).indptr))
        if not return_order:
            return sharded
        numbered = replace(whole, data=numbers_of(A))
        outside = A.indices.shape[0]
        order = shared(lambda k: numbered.rows(cuts[k], cuts[k + 1]).padded(rows, nse, outside).data)
        return sharded, order
    # A word of padding has a column within the block and a place behind the end of indptr.
    scale, columns = np.asarray(A.scale), rows if whole.transposed else whole.shape[1]

    @cache
    def words(k: int) -> Any:
        if are_narrow(A.entries):
            return narrowed(part(k).indices, block(k).indptr, columns)
        return part(k).words(columns), block(k).indptr

    entries, indptr = shared(lambda k: padded(words(k)[0], nse, 0)), shared(lambda k: words(k)[1])
    whole_scale = whole.transposed or not scale.ndim  # one for each row as it is stored
    scales = shared(lambda k: scale if whole_scale else padded(scale[cuts[k] : cuts[k + 1]], rows, 0))
    return ShardedCompactCSR(*cut, entries, indptr, scales)


def _by_shard(block: Callable[[int], Any], mesh: Mesh, axis: str) -> jax.Array:
    """Return the array whose element k is block(k), made on the device of element k."""
    shards, sharding = mesh.shape[axis], NamedSharding(mesh, P(axis))

    def those(at: Any) -> Any:
        blocks = np.stack([block(k) for k in range(shards)[at[0]]])
        check_kept("an array", blocks)
        return blocks

    # Blocks have one shape, so one of this process tells that of all, which may lie elsewhere.
    (own_shard, *_) = sharding.addressable_devices_indices_map((shards,)).values()
    return jax.make_array_from_callback((shards, *those(own_shard).shape[1:]), sharding, those)


@jax.jit
def _times(A: Sharded, x: Any) -> jax.Array:
    def part(A: Sharded, x: Any) -> jax.Array:
        return (A.local() @ x)[None]

    return jax.shard_map(part, mesh=A.mesh, in_specs=(P(A.axis), P()), out_specs=P(A.axis))(A, x)


@jax.jit
def _before(x: Any, A: Sharded) -> jax.Array:
    def part(x: Any, A: Sharded) -> jax.Array:
        block_of_x = jax.tree.map(lambda block: block[0], x)
        return jax.lax.psum(block_of_x @ A.local(), A.axis)

    return jax.shard_map(part, mesh=A.mesh, in_specs=(P(A.axis), P(A.axis)), out_specs=P())(x, A)
