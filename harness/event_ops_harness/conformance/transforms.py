"""Check transforms against calling the operator one by one."""

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

import ffi_bridge
from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Mismatch

BATCH: Final = 3
# Moving the entries of indptr about would not leave a CSR matrix.
FIXED: Final = {"indptr"}
DEVICES: Final = 8
_CPU_TARGET: Final = re.compile(r"[\w.<>-]+\.numba_cpu\.[0-9a-f]{32}")


def variants(x: Any, axis: int = 0) -> Any:
    """Return a batch of arrays like x, along `axis`, with different values where possible."""
    # By NumPy, here and below: each operation of JAX would be a program to compile for each shape and dtype.
    values = np.asarray(x)
    # Whole rows where there are some: in a history of spike ids each ends with its padding.
    rows = values if values.ndim > 1 and len(values) > 1 else values.reshape(-1)
    batch = [moved.reshape(x.shape) for moved in (rows, np.roll(rows, 1, axis=0), rows[::-1])]
    return jax.device_put(np.stack(batch, axis))


def movable(trial: Trial) -> list[int]:
    """Return the positions of the arguments that may be batched."""
    names = list(inspect.signature(trial.operator.function).parameters)
    # A function of *arrays names fewer arguments than it takes.
    names += [""] * len(trial.args)
    return [i for i in range(len(trial.args)) if names[i] not in FIXED]


def axes_of(trial: Trial, *batched: int) -> tuple[int | None, ...]:
    """Return the axis of each argument: the first where it is batched."""
    return tuple(0 if i in batched else None for i in range(len(trial.args)))


def one_by_one(f: Callable[..., Any], axes: Sequence[int | None], args: Sequence[Any]) -> Any:
    """Call f for each element of a batch, as `jax.vmap` means it."""

    def element(i: int) -> Any:
        inputs = zip(args, axes, strict=True)
        return f(*(x if axis is None else jax.device_put(np.asarray(x).take(i, axis)) for x, axis in inputs))

    return jax.tree.map(lambda *ys: np.stack(ys), *map(element, range(BATCH)))


def vmap(trial: Trial) -> None:
    """vmap over the first axis of all inputs."""
    axes = axes_of(trial, *movable(trial))
    args = [x if axis is None else variants(x) for x, axis in zip(trial.args, axes, strict=True)]
    trial.same(jax.vmap(trial.f, axes)(*args), one_by_one(trial.f, axes, args), 2)


def vmap_last(trial: Trial) -> None:
    """jit of vmap over the last axis of one input."""
    last, args, axes = movable(trial)[-1], list(trial.args), [None] * len(trial.args)
    axes[last], args[last] = args[last].ndim, variants(args[last], -1)
    trial.same(jax.jit(jax.vmap(trial.f, axes))(*args), one_by_one(trial.f, axes, args), 2)


def nested_vmap(trial: Trial) -> None:
    """vmap of vmap over two inputs."""
    first, last = movable(trial)[0], movable(trial)[-1]
    outer, inner, args = axes_of(trial, first), axes_of(trial, last), list(trial.args)
    for i in (first, last):
        args[i] = variants(args[i])
    result = jax.vmap(jax.vmap(trial.f, inner), outer)(*args)
    trial.same(result, one_by_one(lambda *xs: one_by_one(trial.f, inner, xs), outer, args), 2)


def scan(trial: Trial) -> None:
    """Two steps of lax.scan."""
    f = trial.f
    _, results = jax.jit(lambda xs: jax.lax.scan(lambda c, _: (c, f(*c)), xs, None, length=2))(trial.args)
    trial.same(results, jax.tree.map(lambda y: np.stack([y, y]), f(*trial.args)), 2)


def while_(trial: Trial) -> None:
    """Three steps of lax.while_loop that keep the last result."""
    expected = trial.f(*trial.args)

    def step(state: Any) -> Any:
        return state[0] + 1, trial.f(*trial.args)

    run = jax.jit(lambda start: jax.lax.while_loop(lambda state: state[0] < 3, step, (0, start)))
    trial.same(run(jax.tree.map(lambda y: np.zeros(y.shape, y.dtype), expected))[1], expected, 2)


def disable_jit(trial: Trial) -> None:
    """Check that a call and a scan give the same under jit and under jax.disable_jit, a debugging tool."""
    expected = trial.f(*trial.args)
    with jax.disable_jit():
        trial.same(trial.f(*trial.args), expected, 2)
        _, results = jax.lax.scan(lambda c, _: (c, trial.f(*c)), trial.args, None, length=2)
    trial.same(results, jax.tree.map(lambda y: np.stack([y, y]), expected), 2)


def donation(trial: Trial) -> None:
    """Inputs that are given away: the values are as before."""
    expected = jax.tree.map(np.asarray, trial.f(*trial.args))
    copies = tuple(jnp.array(x, copy=True) for x in trial.args)
    donated = jax.jit(lambda *xs: trial.f(*xs), donate_argnums=tuple(range(len(copies))))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")  # no output is like them
        trial.same(donated(*copies), expected, 2)


def export(trial: Trial) -> None:
    """A program that was exported, written, read and called; other processes find its CPU kernels on disk."""
    exported = ffi_bridge.export.export(jax.jit(lambda *xs: trial.f(*xs)))(*trial.args)
    again = ffi_bridge.export.deserialize(exported.serialize())
    trial.same(again.call(*trial.args), trial.f(*trial.args), 2)
    if ffi_bridge.kernel_cache.folder() is None:
        return
    for name in _CPU_TARGET.findall(exported.mlir_module()):
        if importlib.import_module("ffi_bridge.numba_cpu.object_code").find(name) is None:
            raise Mismatch(
                f"the kernel {name} is not kept on disk: other processes compile it anew, and cannot call "
                "what is exported; expected a kernel that reads nothing that only its own process has"
            )


def shard_map(trial: Trial) -> None:
    """shard_map over 8 devices, each with an element of a batch."""
    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("x",), axis_types=(AxisType.Auto,))
    batched = axes_of(trial, *movable(trial))
    args = [
        x if axis is None else np.stack([x] * DEVICES) for x, axis in zip(trial.args, batched, strict=True)
    ]
    specs = tuple(P() if axis is None else P("x") for axis in batched)

    def on_one(*xs: Any) -> Any:
        inner = [x if axis is None else x[0] for x, axis in zip(xs, batched, strict=True)]
        # shard_map joins results along an axis that those of one element lack.
        return jax.tree.map(lambda y: y[None], trial.f(*inner))

    run = jax.jit(jax.shard_map(on_one, mesh=mesh, in_specs=specs, out_specs=P("x")))
    expected = trial.f(*trial.args)
    for result, wanted in zip(jax.tree.leaves(run(*args)), jax.tree.leaves(expected), strict=True):
        for shard in np.asarray(result):
            trial.same(shard, wanted, 2)


def shape(trial: Trial) -> None:
    """Check that jax.eval_shape gives the outputs' shapes and dtypes, without running anything."""
    promised = jax.eval_shape(trial.f, *trial.args)
    for spec, result in zip(jax.tree.leaves(promised), jax.tree.leaves(trial.f(*trial.args)), strict=True):
        if (spec.shape, spec.dtype) != (result.shape, result.dtype):
            raise Mismatch(
                f"eval_shape says {spec.dtype}{spec.shape}; the result is {result.dtype}{result.shape}"
            )
