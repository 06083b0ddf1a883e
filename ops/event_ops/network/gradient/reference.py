"""The same run and gradient by the scan that defines them, for a batch."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.network import reference
from event_ops.network.gradient.call import Batch, Run


def _scan(run: Run, batch: Batch, leaves: Sequence[Any]) -> list[jax.Array]:
    """Return the results of the scan, flat, of all samples."""

    def one(leaves: Any) -> list[jax.Array]:
        network, state, values = run.restored(leaves)
        return jax.tree.leaves(reference.run(network, state, values, run.steps))

    if batch.size is None:
        return one(list(leaves))
    axes = ([0 if is_mapped else None for is_mapped in batch.mapped],)
    return jax.vmap(one, axes, axis_size=batch.size)(list(leaves))


def tangents(
    run: Run,
    batch: Batch,
    leaves: Sequence[Any],
    moved: Sequence[int],
    each: Sequence[bool],
    dots: Sequence[Any],
) -> list[jax.Array]:
    """Return the tangents of the float results, from those of the leaves `moved`."""
    whole = [jax.typeof(leaves[k]).shape for k in moved]
    # A tangent for each sample of a leaf that all share: then there is a leaf for each, too.
    own = [k for k, is_each in zip(moved, each, strict=True) if is_each and not batch.mapped[k]]
    size = 1 if batch.size is None else batch.size
    leaves = [jnp.broadcast_to(x, (size, *x.shape)) if k in own else x for k, x in enumerate(leaves)]
    batch = Batch(batch.size, tuple(x or k in own for k, x in enumerate(batch.mapped)))
    dots = [
        jnp.broadcast_to(dot, (size, *shape)) if k in own and dot.shape == shape else dot
        for k, dot, shape in zip(moved, dots, whole, strict=True)
    ]
    dots = [jnp.broadcast_to(dot, leaves[k].shape) for k, dot in zip(moved, dots, strict=True)]

    def of_moved(*values: Any) -> list[jax.Array]:
        chosen = dict(zip(moved, values, strict=True))
        found = _scan(run, batch, [chosen.get(k, x) for k, x in enumerate(leaves)])
        return [found[k] for k in run.float_outs]

    return jax.jvp(of_moved, tuple(leaves[k] for k in moved), tuple(dots))[1]


def build_forward(*, run: Run, batch: Batch, **_: Any) -> Callable[..., Any]:
    """Return the function of the leaves that returns the results of a run, and zeros for what it keeps."""

    def call(*leaves: Any) -> list[jax.Array]:
        kept = [jnp.zeros(x.shape, x.dtype) for x in map(batch.shape, run.residuals)]
        return [*_scan(run, batch, leaves), *kept]

    return call


def build_backward(
    *, run: Run, batch: Batch, wanted: tuple[int, ...], each: tuple[bool, ...], **_: Any
) -> Callable[..., Any]:
    """Return the function of leaves, residuals and cotangents that returns those of the wanted leaves."""

    def call(*inputs: Any) -> list[jax.Array]:
        count = len(batch.mapped)
        leaves, cotangents = list(inputs[:count]), inputs[count + len(run.residuals) :]
        mapped, size = list(batch.mapped), batch.size
        for k, is_each in zip(wanted, each, strict=True):
            if is_each and not mapped[k]:
                leaves[k], mapped[k] = jnp.broadcast_to(leaves[k], (size, *leaves[k].shape)), True

        def of_wanted(*values: Any) -> list[jax.Array]:
            chosen = dict(zip(wanted, values, strict=True))
            moved = [chosen.get(k, x) for k, x in enumerate(leaves)]
            found = _scan(run, Batch(size, tuple(mapped)), moved)
            return [found[k] for k in run.float_outs]

        _, pull = jax.vjp(of_wanted, *(leaves[k] for k in wanted))
        found = pull(list(cotangents))
        return [
            x if is_each or not mapped[k] else x.sum(0)
            for k, is_each, x in zip(wanted, each, found, strict=True)
        ]

    return call
