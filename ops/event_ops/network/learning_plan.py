"""The plan of a projection that learns: its rules, and the arrays that a native run reads."""

from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from event_ops.codegen.function import Traced
from event_ops.network.projections import Projection

# Weights of more memory are far from a processor. In rows of fewer synapses the traces of past steps, which
# are computed for each row that a spike reaches, would take longer than the synapses.
FAR_BYTES: Final = 1 << 22
LONG_ROW: Final = 512


@dataclass(frozen=True)
class Learning:
    """Hold a projection that learns: rules, traces and arguments by name, of on_pre and of on_post.

    Args:
        projection, source, target: its place, and the numbers of its populations.
        post_first: the order of the rules.
        rules: None where there is none.
        traces: the names of presynaptic and of postsynaptic ones.
        taken: what each rule takes by name: traces, or arrays.
        may_defer: whether spikes that come back may wait, on the CPU.
    """

    projection: int
    source: int
    target: int
    post_first: bool
    rules: tuple[Traced | None, Traced | None]
    traces: tuple[tuple[str, ...], tuple[str, ...]]
    taken: tuple[tuple[str, ...], tuple[str, ...]]
    may_defer: bool

    @property
    def changed(self) -> list[str]:
        """Return the names of the arrays that a run updates."""
        sides = zip(("pre", "post"), self.traces, strict=True)
        traces = [f"{side}{self.projection}_{k}" for side, names in sides for k in range(len(names))]
        return [f"weights{self.projection}", *traces]


def learning_of(
    place: int,
    part: Projection,
    numbers: dict[str, int],
    synapses: dict[str, jax.Array],
    arrays: dict[str, Any],
) -> Learning:
    """Return the learning of a projection; add arguments of rules, and drop its first weights."""
    plasticity: Any = part.plasticity
    A: Any = part.A
    rules: list[Traced | None] = []
    taken: list[tuple[str, ...]] = []
    for axis, rule in enumerate((plasticity.on_pre, plasticity.on_post)):
        traced, given = (None, {}) if rule is None else plasticity.traced(axis, A, synapses)
        rules.append(traced)
        taken.append(tuple(given))
        named = {f"variable{place}_{axis}_{k}": name for k, name in enumerate(given)}
        arrays |= {key: given[name] for key, name in named.items() if name not in synapses}
    for side in ("pre", "post"):
        decays = plasticity.decays(side, part.dtype)
        arrays[f"decays_{side}{place}"] = np.array(decays, part.dtype)
    arrays[f"back{place}"] = np.int32(plasticity.post_delay)
    if plasticity.on_post is not None:
        arrays |= {f"columns{place}_{k}": x for k, x in enumerate(A.by_column[:3])}
    del arrays[f"matrix{place}_0"]
    ends = place, numbers[part.source], numbers[part.target]
    traces = plasticity.names("pre"), plasticity.names("post")
    return Learning(
        *ends, plasticity.post_first, (rules[0], rules[1]), traces, (taken[0], taken[1]), may_defer(part)
    )


def may_defer(part: Projection) -> bool:
    """Return whether spikes that come back may wait, as columns of the weights are slow to change."""
    plasticity: Any = part.plasticity
    A: Any = part.A
    is_large = A.nse * part.dtype.itemsize >= FAR_BYTES and A.nse >= LONG_ROW * A.shape[0]
    return plasticity.on_post is not None and part.dtype in ("float32", "float64") and is_large
