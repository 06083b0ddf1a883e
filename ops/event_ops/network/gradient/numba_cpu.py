"""A run that is differentiated on the CPU: a native call forwards, and one backwards, of a whole batch."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from event_ops.network.gradient import backward, forward
from event_ops.network.gradient.call import Batch, Run
from event_ops.network.gradient.lines import Wanted, float_places
from event_ops.network.native import structured
from event_ops.network.plan import Arrays, Plan, plan_of
from event_ops.network.states import State
from event_ops.sparse.csr import CSR
from ffi_bridge import numba_kernel
from ffi_bridge.numba_cpu import config


class _Prepared:
    """Hold the plan of a run of a batch, and the arrays of its kernels."""

    def __init__(self, run: Run, batch: Batch, leaves: Sequence[Any]) -> None:
        self.run, self.batch = run, batch
        self.network, state, values = run.restored(batch.first(leaves))
        self.plan, arrays = _planned(self.network, state, values, run.steps)
        self.size = batch.size or 1
        _, each, timed = run.restored(batch.each(leaves))
        layout = self.network.layout
        neurons, history = layout.named(each.neurons), layout.named(each.history)
        for p, (name, part) in enumerate(zip(layout.populations, self.plan.populations, strict=True)):
            arrays[f"history{p}"] = self._repeated(history[name])
            arrays |= {f"init{p}_{k}": self._repeated(neurons[name][x]) for k, x in enumerate(part.states)}
        arrays["begin"] = self._repeated(each.step)
        for m, part in enumerate(self.network.inputs):
            arrays[f"values{m}"] = timed[part.name]
        for q, part in enumerate(self.network.projections):
            ages = np.array(part.ages, np.int32)
            arrays[f"ages{q}"] = np.where(ages < part.min_delay, np.int32(-1), ages)
        self._numbers = arrays.pop("steps"), arrays.pop("every"), run.segment
        self.arrays = arrays

    def _repeated(self, x: Any) -> jax.Array:
        return jnp.broadcast_to(x, (self.size, *x.shape[1:]))

    def order(self) -> list[int]:
        """Return which result of the run each output of the kernel is."""
        arranged = structured(self.network, self.plan, range(len(self.run.outs)))
        return np.argsort(jax.tree.leaves(arranged)).tolist()

    def numbers(self, most_together: int) -> tuple[np.ndarray, int]:
        """Return the numbers that kernels read first, and on how many threads they run.

        They are steps, every, the length of a segment, threads, and how many samples go together.
        """
        threads = int(config.NUMBA_NUM_THREADS)
        together = min(most_together, -(-self.size // threads))
        shares = min(-(-self.size // together), threads)
        return np.array([*self._numbers, shares, together], np.int64), shares


def _planned(network: Any, state: State, values: Any, steps: int) -> tuple[Plan, Arrays]:
    """Return the plan, and its arrays, with the weights of all entries."""
    plan, arrays = plan_of(network, state, values, steps, surrogates=True)
    for q, part in enumerate(network.projections):
        if isinstance(part.A, CSR):
            weights = arrays[f"matrix{q}_0"].astype(part.dtype)
            arrays[f"matrix{q}_0"] = jnp.broadcast_to(weights, part.A.indices.shape)
    return plan, arrays


def build_forward(*, run: Run, batch: Batch, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of the leaves that returns the results of a run, and what the gradient reads."""

    def call(*leaves: Any) -> Any:
        made = _Prepared(run, batch, leaves)
        arrays = made.arrays | {"numbers": made.numbers(1)[0]}
        plan, order = made.plan, made.order()
        like = [jax.ShapeDtypeStruct((made.size, *run.outs[k].shape), run.outs[k].dtype) for k in order]
        kept = [jax.ShapeDtypeStruct((made.size, *x.shape), x.dtype) for x in run.residuals]
        native = numba_kernel(forward.kernel(plan, tuple(arrays)), (*like, *kept))
        found = native(*arrays.values())
        results: list[Any] = [None] * len(order)
        for k, x in zip(order, found, strict=False):
            results[k] = x
        return batch.squeezed([*results, *found[len(order) :]])

    return call


def build_backward(
    *, run: Run, batch: Batch, outs: Any, wanted: tuple[int, ...], each: tuple[bool, ...], **_: Any
) -> Callable[..., Any]:
    """Return the function of leaves, residuals and cotangents that returns those of the wanted leaves."""

    def call(*inputs: Any) -> Any:
        count = len(batch.mapped)
        leaves, rest = inputs[:count], [x if batch.size else x[None] for x in inputs[count:]]
        kept, cotangents = rest[: len(run.residuals)], rest[len(run.residuals) :]
        made = _Prepared(run, batch, leaves)
        plan = made.plan
        by_out = dict(zip(run.float_outs, cotangents, strict=True))
        ordered = [by_out[k] for k in made.order() if k in by_out]
        given = dict(zip(backward.cotangents(plan), ordered, strict=True))
        arrays = made.arrays | dict(zip(forward.residuals(plan), kept, strict=True)) | given
        arrays["numbers"], shares = made.numbers(backward.MOST_TOGETHER)
        shared = _Shared(run, batch, leaves, wanted)
        own = any(is_each for k, is_each in zip(wanted, each, strict=True) if k in shared.places)
        timed = _timed(made, wanted, each)
        first = _first(made, wanted)
        chosen = Wanted(
            (
                *((name, own) for name in shared.names),
                *((name, is_each) for name, _, is_each in timed),
                *((name, True) for name, _ in first),
            )
        )
        like = []
        for name, is_each in chosen.names:
            shape = arrays[name].shape if name.startswith(("given", "matrix")) else arrays[name].shape[1:]
            sizes = (made.size if is_each else shares, *(shape or (1,)))
            like.append(jax.ShapeDtypeStruct(sizes, arrays[name].dtype))
        found = numba_kernel(backward.kernel(plan, tuple(arrays), chosen), tuple(like))(*arrays.values())
        by_name = dict(zip((name for name, _ in chosen.names), found, strict=True))
        cts = shared.pulled({name: by_name[name] for name in shared.names}, own)
        for name, leaf, _ in timed:
            cts[leaf] = by_name[name]
        for name, leaf in first:
            cts[leaf] = by_name[name]
        return [_in_shape(cts[k], is_each, leaves[k]) for k, is_each in zip(wanted, each, strict=True)]

    return call


def _in_shape(x: Any, is_each: bool, leaf: Any) -> Any:
    return x if is_each else _total(x).reshape(leaf.shape)


def _total(x: Any) -> Any:
    """Return the sum over shares, of which there are few: XLA's reduction takes several times as long."""
    return functools.reduce(jnp.add, list(x))


def _timed(made: _Prepared, wanted: Sequence[int], each: Sequence[bool]) -> list[tuple[str, int, bool]]:
    """Return (array, leaf, whether each sample has its own) of the wanted values of inputs."""
    _, _, values = made.run.restored(range(len(made.batch.mapped)))
    is_each = dict(zip(wanted, each, strict=True))
    found = [(f"values{m}", values[part.name]) for m, part in enumerate(made.network.inputs)]
    return [(name, leaf, is_each[leaf]) for name, leaf in found if leaf in is_each]


def _first(made: _Prepared, wanted: Sequence[int]) -> list[tuple[str, int]]:
    """Return (array, leaf) of the wanted first states."""
    _, state, _ = made.run.restored(range(len(made.batch.mapped)))
    neurons, plan = made.network.layout.named(state.neurons), made.plan
    names = list(made.network.layout.populations)
    found = [
        (f"init{p}_{k}", neurons[names[p]][plan.populations[p].states[k]]) for p, k in float_places(plan)
    ]
    return [(name, leaf) for name, leaf in found if leaf in wanted]


class _Shared:
    """Hold how the arrays of a plan follow from the leaves that all samples share: weights and parameters."""

    def __init__(self, run: Run, batch: Batch, leaves: Sequence[Any], wanted: Sequence[int]) -> None:
        network, _, _ = run.restored(range(len(leaves)))
        among = {*jax.tree.leaves(network)}
        self.places = [k for k in wanted if k in among]
        self._leaves, self._run, self._batch = leaves, run, batch
        like = jax.eval_shape(self._arrays, *(leaves[k] for k in self.places))
        self.names = self._that_depend(like)

    def _arrays(self, *moved: Any) -> Arrays:
        values = dict(zip(self.places, moved, strict=True))
        one = self._batch.first([values.get(k, x) for k, x in enumerate(self._leaves)])
        network, state, timed = self._run.restored(one)
        _, arrays = _planned(network, state, timed, self._run.steps)
        return {
            name: x
            for name, x in arrays.items()
            if name.startswith(("given", "matrix")) and jnp.issubdtype(x.dtype, jnp.floating)
        }

    def _that_depend(self, like: Arrays) -> list[str]:
        """Return the names of the arrays that the leaves have an influence on."""
        jaxpr = jax.make_jaxpr(self._arrays)(*(self._leaves[k] for k in self.places)).jaxpr
        moved = {*jaxpr.invars}
        for equation in jaxpr.eqns:
            if any(not isinstance(x, Literal) and x in moved for x in equation.invars):
                moved.update(equation.outvars)
        results = zip(sorted(like), jaxpr.outvars, strict=True)  # as JAX orders the keys of a dictionary
        return [name for name, x in results if not isinstance(x, Literal) and x in moved]

    def pulled(self, cotangents: Arrays, own: bool) -> dict[int, Any]:
        """Return leaf -> cotangent with a leading axis, of samples or of size 1."""
        if not self.places:
            return {}

        def of_leaves(*moved: Any) -> Arrays:
            arrays = self._arrays(*moved)
            return {name: arrays[name] for name in self.names}

        like, pull = jax.vjp(of_leaves, *(self._leaves[k] for k in self.places))
        if own:
            shaped = {name: x.reshape(x.shape[0], *like[name].shape) for name, x in cotangents.items()}
            found = jax.vmap(pull)(shaped)
        else:
            found = [
                x[None] for x in pull({k: _total(x).reshape(like[k].shape) for k, x in cotangents.items()})
            ]
        return dict(zip(self.places, found, strict=True))
