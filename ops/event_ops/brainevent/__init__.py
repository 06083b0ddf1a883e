"""Run programs of BrainEvent, BrainPy and brainstate on the operators of this catalog, without changing them.

`event_ops.brainevent.install()` makes the catalog a backend called "event_ops" of BrainEvent's primitives,
and their default on a CPU; `python -m event_ops.brainevent program.py` runs a program so. It needs BrainEvent
0.2 or 0.3; the extra `event-ops[brainevent]` installs 0.3, under Python 3.12 or newer.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from event_ops.brainevent.registry import BACKEND, PLATFORMS, VERSION, primitives, register
from event_ops.brainevent.supported_primitives import SERVED, why_not

VARIABLE: Final = "EVENT_OPS_BRAINEVENT"
_before: Final[dict[tuple[str, str], str]] = {}  # (primitive, platform) -> its default without us


def install(*, platforms: Sequence[str] = ("cpu",)) -> None:
    """Make the catalog the default backend of every primitive of BrainEvent that it serves.

    A call whose weights are integers or complex stays with the backend that was the default before, as do
    plasticity and delays of 16 bits and the calls that `explain` names. Results are the same up to the order
    of sums, which weights of 16 bits have in float32; an index out of range contributes nothing. Units,
    derivatives and batches are BrainEvent's, which are defined above its primitives. JAX forgets what it has
    compiled, so call this before the first step. With `EVENT_OPS_BRAINEVENT=0` in the environment it does
    nothing.

    Args:
        platforms: where to become the default, of "cpu" and "gpu". On both the backend is registered, for
            `backend="event_ops"` and `brainevent.config.set_backend`. GPUs have run the kernels, but no
            program of BrainEvent with them.

    Raises:
        ValueError: a platform that is neither.
    """
    if unknown := set(platforms) - set(PLATFORMS):
        raise ValueError(f"platforms has {sorted(unknown)}; expected some of {PLATFORMS}")
    if os.environ.get(VARIABLE) == "0":
        return
    register(SERVED)
    for name, primitive in primitives(SERVED).items():
        for platform in platforms:
            if primitive.defaults[platform] != BACKEND:
                _before[name, platform] = primitive.defaults[platform]
                primitive.set_default(platform, BACKEND)


def uninstall() -> None:
    """Give BrainEvent's primitives the defaults that they had before `install`; ours stays registered."""
    while _before:
        (name, platform), default = _before.popitem()
        primitives((name,))[name].set_default(platform, default)


@contextmanager
def installed(*, platforms: Sequence[str] = ("cpu",)) -> Generator[None]:
    """Call `install` for a with block, and afterwards `uninstall`, unless it was installed before."""
    before = dict(_before)
    install(platforms=platforms)
    try:
        yield
    finally:
        if not before:
            uninstall()


def explain() -> str:
    """Return a line for each primitive of BrainEvent: who serves it, which calls are not served, and why."""
    every = primitives()
    width = max(map(len, every))
    return "\n".join(f"{name:{width}}  {_line(name, every[name])}" for name in sorted(every))


def _line(name: str, primitive: Any) -> str:
    if name not in SERVED:
        return f"BrainEvent's own: {why_not(name)}"
    served = SERVED[name]
    defaults = [platform for platform in PLATFORMS if primitive.defaults.get(platform) == BACKEND]
    where = f"default on {', '.join(defaults)}" if defaults else "not installed"
    stays = f"; BrainEvent's own for {served.stays}" if served.stays else ""
    return f"event_ops.{served.operator.__name__} ({where}){stays}"


__all__ = ["VERSION", "explain", "install", "installed", "uninstall"]
